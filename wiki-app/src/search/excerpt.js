import { escapePattern, plainLetters, spellingsOf } from '../pages/letters.js'
import { isUnspaced, tokensOf, UNSPACED } from '../pages/unspaced.js'
import { plainText } from './plain-text.js'

const WORDS_MAX = 20
const BEFORE_CHARS = 60
const AFTER_CHARS = 180
/** Of Markdown around a hit. The whole text would keep other requests waiting. */
const LOOK_BEFORE_CHARS = 600
const LOOK_AFTER_CHARS = 1_200
/** Hits in the address of a link, or in a tag, are not seen. */
const HITS_TRIED = 5
/** Of a word that the index has as several: nginx缓存. */
const TOKENS_MAX = 20
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{N}]`
const NO_LETTER_BEFORE = `(?<!${LETTER})`
const NO_LETTER_AFTER = `(?!${LETTER}|\\p{M})`
const NO_MARK_AFTER = '(?!\\p{M})'
/** Between characters of Chinese: where a line ends, Markdown, and the end of a sentence. The index has none of it. */
const BETWEEN = '[\\s!-/:-@[-`{-~\u2010-\u206F\u3000-\u3003\u3008-\u3020\uFF01-\uFF0F\uFF1A-\uFF20]{0,3}'

/**
 * @param {string} content  Markdown @param {string} q  as for `search.byText` @param {string[]} [forms]  of its answer
 * @returns {{text: string, hit: boolean}[]} plain text around the first hit that a reader sees, else the beginning, in
 *   its order, not escaped
 */
export function excerpt (content, q, forms = []) {
  const pattern = patternOf([...(q.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).slice(0, WORDS_MAX), ...forms])
  for (const { start, end } of pattern === null ? [] : windowsOf(content, pattern)) {
    const text = plainText(content.slice(start, end))
    const at = text.search(/** @type {RegExp} */ (pattern))
    if (at !== -1) return piecesOf(text, at, pattern, { before: start > 0, after: end < content.length })
  }
  const beginning = plainText(content.slice(0, LOOK_AFTER_CHARS))
  return piecesOf(beginning, 0, null, { before: false, after: content.length > LOOK_AFTER_CHARS })
}

/** @param {string[]} words @returns {RegExp | null} null: nothing is left of them */
function patternOf (words) {
  const all = words.flatMap(spellings).sort((one, other) => other.length - one.length)
  const patterns = [true, false].flatMap((begins) => [true, false].flatMap((ends) => patternsOf(all, begins, ends)))
  return patterns.length === 0 ? null : new RegExp(patterns.join('|'), 'giu')
}

/**
 * Of all words that may have the same beside them: each condition takes time.
 * @param {string[][]} all  tokens of words
 * @param {boolean} begins  they begin with a character of a script without spaces
 * @param {boolean} ends  they end with one
 * @returns {string[]} one pattern, or none
 */
function patternsOf (all, begins, ends) {
  const words = all
    .filter((tokens) => isUnspaced(tokens[0]) === begins && isUnspaced(tokens[tokens.length - 1]) === ends)
    .map((tokens) => tokens.map((token) => isUnspaced(token) ? escapePattern(token) : spellingsOf(token)).join(BETWEEN))
  return words.length === 0
    ? []
    : [`${begins ? '' : NO_LETTER_BEFORE}(?:${words.join('|')})${ends ? NO_MARK_AFTER : NO_LETTER_AFTER}`]
}

/** @param {string} word @returns {string[][]} tokens of it, and as it is written where that is not plain */
function spellings (word) {
  const [plain, written] = [plainLetters(word), word.normalize('NFC')]
    .map((each) => tokensOf(each).slice(0, TOKENS_MAX))
  if (plain.length === 0) return []
  return plain.some(isUnspaced) && plain.join() !== written.join() ? [plain, written] : [plain]
}

/** @param {string} content @param {RegExp} pattern */
function * windowsOf (content, pattern) {
  let end = 0
  let tried = 0
  for (const { index } of content.matchAll(pattern)) {
    if (index < end) continue
    const least = Math.max(0, index - LOOK_BEFORE_CHARS)
    const line = content.indexOf('\n', least)
    // The beginning of a line says what the line is.
    const start = least > 0 && line !== -1 && line < index - BEFORE_CHARS ? line + 1 : least
    end = Math.min(content.length, index + LOOK_AFTER_CHARS)
    yield { start, end }
    if (++tried === HITS_TRIED) return
  }
}

/**
 * @param {string} text @param {number} at  of the first hit @param {RegExp | null} pattern  of hits
 * @param {{before: boolean, after: boolean}} more  whether there is more text
 */
function piecesOf (text, at, pattern, more) {
  const [start, end] = [wordAfter(text, at - BEFORE_CHARS, at), wordBefore(text, at + AFTER_CHARS, at)]
  // A cut may split a surrogate pair.
  const shown = text.slice(start, end).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  const pieces = []
  let from = 0
  for (const match of pattern === null ? [] : shown.matchAll(pattern)) {
    pieces.push({ text: shown.slice(from, match.index), hit: false }, { text: match[0], hit: true })
    from = match.index + match[0].length
  }
  pieces.push({ text: shown.slice(from), hit: false })
  if (more.before || start > 0) pieces.unshift({ text: '… ', hit: false })
  if (more.after || end < text.length) pieces.push({ text: ' …', hit: false })
  return pieces.filter((piece) => piece.text !== '')
}

/** @param {string} text @param {number} start @param {number} before  when there is no word between, `start` */
function wordAfter (text, start, before) {
  if (start <= 0) return 0
  const space = text.indexOf(' ', start)
  return space !== -1 && space < before ? space + 1 : start
}

/** @param {string} text @param {number} end @param {number} after  when there is no word between, `end` */
function wordBefore (text, end, after) {
  if (end >= text.length) return text.length
  const space = text.lastIndexOf(' ', end)
  return space > after ? space : end
}
