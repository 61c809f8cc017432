import { spellingsOf } from '../pages/letters.js'
import { plainText } from './plain-text.js'

const WORDS_MAX = 20
const BEFORE_CHARS = 60
const AFTER_CHARS = 180
/** Of Markdown around a hit. The whole text would keep other requests waiting. */
const LOOK_BEFORE_CHARS = 600
const LOOK_AFTER_CHARS = 1_200
/** Hits in the address of a link, or in a tag, are not seen. */
const HITS_TRIED = 5

/**
 * @param {string} content  Markdown @param {string} q  as for `search.byText` @param {string[]} [forms]  of its answer
 * @returns {{text: string, hit: boolean}[]} plain text around the first hit that a reader sees, else the beginning, in
 *   its order, not escaped
 */
export function excerpt (content, q, forms = []) {
  const words = [...(q.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, WORDS_MAX), ...forms].map(spellingsOf)
  const pattern = words.length === 0
    ? null
    : new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'giu')
  for (const { start, end } of pattern === null ? [] : windowsOf(content, pattern)) {
    const text = plainText(content.slice(start, end))
    const at = text.search(/** @type {RegExp} */ (pattern))
    if (at !== -1) return piecesOf(text, at, pattern, { before: start > 0, after: end < content.length })
  }
  const beginning = plainText(content.slice(0, LOOK_AFTER_CHARS))
  return piecesOf(beginning, 0, null, { before: false, after: content.length > LOOK_AFTER_CHARS })
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
