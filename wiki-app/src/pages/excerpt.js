const WORDS_MAX = 20
const BEFORE_CHARS = 60
const AFTER_CHARS = 180

/**
 * @param {string} content  Markdown @param {string} q  as for `search.byText`
 * @returns {{text: string, hit: boolean}[]} in their order, not escaped
 */
export function excerpt (content, q) {
  const words = (q.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, WORDS_MAX)
  // Only letters and digits: nothing to escape.
  const pattern = words.length === 0
    ? null
    : new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'giu')
  const first = pattern === null ? 0 : Math.max(0, content.search(pattern))
  const [start, end] = [Math.max(0, first - BEFORE_CHARS), Math.min(content.length, first + AFTER_CHARS)]
  // A cut may split a surrogate pair.
  const text = content.slice(start, end).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  const pieces = []
  let at = 0
  for (const match of pattern === null ? [] : text.matchAll(pattern)) {
    pieces.push({ text: text.slice(at, match.index), hit: false }, { text: match[0], hit: true })
    at = match.index + match[0].length
  }
  pieces.push({ text: text.slice(at), hit: false })
  if (start > 0) pieces.unshift({ text: '… ', hit: false })
  if (end < content.length) pieces.push({ text: ' …', hit: false })
  return pieces.filter((piece) => piece.text !== '')
}
