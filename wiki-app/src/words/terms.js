import { setImmediate as nextTurn } from 'node:timers/promises'
import { plainLetters } from '../pages/letters.js'
import { separated, tokensOf } from '../pages/unspaced.js'

/** A search takes no more. */
const QUERY_MAX_CHARS = 200
/** Each word is looked for on its own; a query is short anyway. */
const WORDS_MAX = 20
const NOT_ASCII = /[\u0080-\uffff]/
/** What keeps other requests waiting is bounded: some milliseconds of work. */
const CHUNK_CHARS = 65_536
/** Before a character of Chinese a text can be cut as well: it is not composed with what stands before it. */
const CUT = /\s|(?=[\u4E00-\u9FFF\uD840-\uD8BF])/
/** Letters, digits and marks, as the tokenizer has them (file.js). Its other characters separate words. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:_+[\p{L}\p{N}\p{M}]+)*/gu
const PART = /(-?)"([^"]*)(?:"|$)|(-?)([^\s"]+)/gu

/**
 * @param {string} text  of any length
 * @returns {Promise<string>} the text as it is indexed: in lower case and without accents where it is not ASCII, which
 *   the tokenizer folds itself; each character of a script without spaces is a word
 */
export async function plainWords (text) {
  if (!NOT_ASCII.test(text)) return text
  let plain = ''
  for (let at = 0; at < text.length;) {
    const end = endOfChunk(text, at)
    plain += separated(plainLetters(text.slice(at, end)))
    at = end
    if (at < text.length) await nextTurn()
  }
  return plain
}

/** Between two words, if they end within a second chunk. @param {string} text @param {number} start */
function endOfChunk (text, start) {
  const least = start + CHUNK_CHARS
  if (least >= text.length) return text.length
  const cut = text.slice(least, least + CHUNK_CHARS).search(CUT)
  return cut === -1 ? least + CHUNK_CHARS : least + cut
}

/**
 * Words as such, the others quoted. A word of a script without spaces is its characters, with spaces between them.
 * @typedef {{words: string[], phrases: string[], unwanted: string[]}} Query
 */

/** @param {string} q  words, "phrases in quotes", -excluded words and -"excluded phrases" @returns {Query} */
export function queryOf (q) {
  /** @type {Query} */
  const found = { words: [], phrases: [], unwanted: [] }
  for (const [, notPhrase, phrase, notWords, words] of plainLetters(q).matchAll(PART)) {
    const all = ((phrase ?? words).match(WORD) ?? []).map((word) => tokensOf(word).join(' '))
    if (all.length === 0) continue
    if (notPhrase || notWords) found.unwanted.push(quoted(all))
    else if (phrase !== undefined) found.phrases.push(quoted(all))
    else found.words.push(...all)
  }
  const [words, phrases, unwanted] = [found.words, found.phrases, found.unwanted]
    .map((list) => [...new Set(list)].slice(0, WORDS_MAX))
  return { words, phrases, unwanted }
}

/**
 * Pages with any of the words, or, with phrases, those with all phrases; the words then only rank. All is quoted, so
 * nothing of a query is syntax of FTS5: https://www.sqlite.org/fts5.html#full_text_query_syntax
 * @param {Query} query @param {string[]} [forms]  other words that count as well
 * @returns {string | null} null: nothing is looked for
 */
export function matchOf ({ words: plain, phrases, unwanted }, forms = []) {
  const words = [...plain, ...forms].map((word) => quoted([word]))
  const wanted = phrases.length === 0
    ? words.join(' OR ')
    : [...phrases, ...words.length > 0 ? [`(${[phrases[0], ...words].join(' OR ')})`] : []].join(' AND ')
  if (wanted === '') return null
  return unwanted.length === 0 ? wanted : `(${wanted}) NOT (${unwanted.join(' OR ')})`
}

/** @param {string[]} words  without quotes in them */
const quoted = (words) => `"${words.join(' ')}"`

/**
 * @param {string} q @param {Map<string, string>} corrections  of words as they are indexed, by such words
 * @returns {string | null} the query with them; null: there is nothing to correct
 */
export function corrected (q, corrections) {
  if (corrections.size === 0) return null
  const text = q.replace(WORD, (word) => corrections.get(plainLetters(word)) ?? word)
  return text === q || text.length > QUERY_MAX_CHARS ? null : text
}
