/** @import {AboutTexts, Convert, Converted} from '../content.js' */
/** @import {DumpRevision} from './dump.js' */

/** What one call of the converter gets. */
const BATCH_MAX_TEXTS = 20
const BATCH_MAX_CHARS = 200_000
/** Languages of code blocks by MediaWiki's content models. https://www.mediawiki.org/wiki/Manual:Content_model */
const LANGUAGES = new Map(Object.entries({
  css: 'css', 'sanitized-css': 'css', javascript: 'javascript', vue: 'html', json: 'json', Scribunto: 'lua', text: ''
}))

/** @typedef {{revision: DumpRevision, at: Date}} Dated */
/** @typedef {Dated & {converted: Converted}} Texted */

/**
 * @param {AsyncIterable<Dated>} revisions @param {string | null} cut  id of a revision that ends a batch
 * @returns {AsyncGenerator<Dated[]>} as many as one call of the converter gets
 */
export async function * batchesOf (revisions, cut) {
  /** @type {Dated[]} */
  let batch = []
  let chars = 0
  for await (const dated of revisions) {
    const { length } = dated.revision.text
    if (batch.length >= BATCH_MAX_TEXTS || (batch.length > 0 && chars + length > BATCH_MAX_CHARS)) {
      yield batch;
      [batch, chars] = [[], 0]
    }
    batch.push(dated)
    chars += length
    if (dated.revision.id === cut) {
      yield batch;
      [batch, chars] = [[], 0]
    }
  }
  if (batch.length > 0) yield batch
}

/**
 * @param {Dated[]} batch @param {{convert: Convert, about: AboutTexts, isStored: boolean}} options  `isStored`: all of
 *   them are here, so their texts are not needed
 * @returns {Promise<Texted[]>}
 */
export async function convertBatch (batch, { convert, about, isStored }) {
  if (isStored) return batch.map((dated) => ({ ...dated, converted: { content: '' } }))
  const wikitexts = batch.filter(({ revision }) => revision.model === 'wikitext' && revision.lacks === null)
  const converted = wikitexts.length === 0
    ? []
    : await convert(wikitexts.map(({ revision }) => revision.text), about)
  const results = new Map(wikitexts.map((dated, index) => [dated, converted[index]]))
  return batch.map((dated) => ({ ...dated, converted: results.get(dated) ?? { content: codeBlock(dated.revision) } }))
}

/** @param {DumpRevision} revision  no wikitext */
function codeBlock ({ text, model }) {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}${LANGUAGES.get(model) ?? ''}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}\n`
}
