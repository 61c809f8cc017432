import { viewUrl } from '../pages/name.js'
import { counted } from '../readable.js'
import { renderFor } from '../views.js'

/** @import {ImportLine, ImportTotals, Result} from './import.js' */

/** Of each kind; the totals count all. */
const LISTED_MAX = 500
const ATTACHMENT = /^\/files\/[^/]+\//
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
  const files = { created: 0, replaced: 0, unchanged: 0, kept: 0, refused: 0 }
  const pictures = { created: 0, unchanged: 0 }
  const attachments = { created: 0, unchanged: 0 }
  /** @type {Record<Result | 'missing' | 'untouched', ReturnType<typeof createList>>} */
  const lists = {
    created: createList(),
    replaced: createList(),
    unchanged: createList(),
    kept: createList(),
    refused: createList(),
    missing: createList(),
    untouched: createList()
  }
  /** @type {ImportTotals | undefined} */
  let totals

  return {
    /** @param {ImportLine | ImportTotals} line */
    add (line) {
      if ('done' in line) {
        totals = line
        return
      }
      const { result, name, url, missing, reason } = line
      if (url !== undefined) {
        const kind = ATTACHMENT.test(url) ? attachments : pictures
        kind[result === 'created' ? 'created' : 'unchanged']++
        return
      }
      const item = { ...line, ...(name !== undefined && { url: viewUrl(name) }) }
      files[result]++
      lists[result].add(item)
      if (missing !== undefined) lists.missing.add(item)
      if (result !== 'refused' && reason !== undefined) lists.untouched.add(item)
    },

    shown: () => ({ ...totals, lists, counted, sentence: sentenceOf(files, pictures, attachments) })
  }
}

function createList () {
  /** @type {ImportLine[]} */
  const items = []
  let more = 0
  return {
    items,
    more: () => more,
    /** @param {ImportLine} item */
    add (item) {
      if (items.length < LISTED_MAX) items.push(item)
      else more++
    }
  }
}

/**
 * @typedef {{created: number, unchanged: number}} Stored
 * @param {Record<Result, number>} files @param {Stored} pictures @param {Stored} attachments
 */
function sentenceOf (files, pictures, attachments) {
  const parts = /** @type {[number, string, string][]} */ ([
    [files.created, 'page', 'made'],
    [files.replaced, 'page', 'replaced'],
    [files.unchanged, 'page', 'already the same'],
    [files.kept, 'page', 'kept as before'],
    [pictures.created, 'picture', 'stored'],
    [pictures.unchanged, 'picture', 'already there'],
    [attachments.created, 'other file', 'stored'],
    [attachments.unchanged, 'other file', 'already there'],
    [files.refused, 'file', 'not taken']
  ])
  const words = parts.filter(([count]) => count > 0).map(([count, what, became]) => `${counted(count, what)} ${became}`)
  return words.length === 0 ? 'There was no file in it.' : `${words.join(', ')}.`
}
