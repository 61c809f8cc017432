import { historyUrl, viewUrl } from '../pages/name.js'
import { renderFor } from '../views.js'

/** @import {ImportLine, ImportTotals, Result} from './import.js' */

/** Of each kind; the totals count all. */
const LISTED_MAX = 500
/** No template contains it. */
const MARK = '\u0000'

/**
 * A document for people. Its head comes at once, then a space for each file, so that no proxy gives up.
 * @param {import('fastify').FastifyRequest} request @param {AsyncIterable<ImportLine | ImportTotals | null>} lines
 * @returns {AsyncGenerator<string>}
 */
export async function * createReport (request, lines) {
  const [head, tail] = renderFor(request, 'imported', { title: 'Import', reportHtml: MARK }).split(MARK)
  yield head
  const summary = createSummary()
  for await (const line of lines) {
    if (line !== null) summary.add(line)
    yield ' '
  }
  yield renderFor(request, 'import-report', summary.shown())
  yield tail
}

function createSummary () {
  /** @type {Record<Result, number>} */
  const pages = { created: 0, replaced: 0, unchanged: 0, kept: 0, refused: 0 }
  const pictures = { created: 0, unchanged: 0 }
  /** @type {Record<Result | 'missing' | 'left', {path: string, name?: string, url?: string}[]>} */
  const listed = { created: [], replaced: [], unchanged: [], kept: [], refused: [], missing: [], left: [] }
  let withMissing = 0
  /** @type {ImportTotals | undefined} */
  let totals

  return {
    /** @param {ImportLine | ImportTotals} line */
    add (line) {
      if ('done' in line) {
        totals = line
        return
      }
      const { result, name, url } = line
      const item = {
        ...line,
        ...(name !== undefined && { url: viewUrl(name), historyUrl: historyUrl(name) })
      }
      if (name === undefined && url !== undefined) {
        pictures[result === 'created' ? 'created' : 'unchanged']++
        return
      }
      pages[result]++
      list(result, item)
      if (line.missing !== undefined) {
        withMissing++
        list('missing', item)
      } else if (result !== 'refused' && line.reason !== undefined) list('left', item)
    },

    shown: () => ({ totals, pages, pictures, listed, withMissing })
  }

  /** @param {keyof typeof listed} kind @param {ImportLine} item */
  function list (kind, item) {
    if (listed[kind].length < LISTED_MAX) listed[kind].push(item)
  }
}
