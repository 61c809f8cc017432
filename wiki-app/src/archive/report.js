import { t } from '../language.js'
import { viewUrl } from '../pages/name.js'
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
  const [head, tail] = renderFor(request, 'imported', { title: t('Import'), reportHtml: MARK }).split(MARK)
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

    shown: () => ({ ...totals, lists, sentence: sentenceOf(files, pictures, attachments) })
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
  const parts = /** @type {[number, (values: {count: number}) => string][]} */ ([
    [files.created, (n) => t('{{count}} pages made', n)],
    [files.replaced, (n) => t('{{count}} pages replaced', n)],
    [files.unchanged, (n) => t('{{count}} pages already the same', n)],
    [files.kept, (n) => t('{{count}} pages kept as before', n)],
    [pictures.created, (n) => t('{{count}} pictures stored', n)],
    [pictures.unchanged, (n) => t('{{count}} pictures already there', n)],
    [attachments.created, (n) => t('{{count}} other files stored', n)],
    [attachments.unchanged, (n) => t('{{count}} other files already there', n)],
    [files.refused, (n) => t('{{count}} files not taken', n)]
  ])
  const words = parts.filter(([count]) => count > 0).map(([count, says]) => says({ count }))
  return words.length === 0 ? t('There was no file in it.') : `${words.join(', ')}.`
}
