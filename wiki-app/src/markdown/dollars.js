const DOLLAR = '$'
const BLOCK = '$$'
const DOLLARS = /\$+/y
const SPACE = /\s/
const DIGIT = /\d/
const BEFORE = /[\p{L}\p{N}]/u
const AFTER = /[\p{L}\p{N}({$]/u
/** Of code, HTML and comments; and an empty line, which ends a paragraph. */
const OTHER_MARKS = /`|<\/|<!--|\n[^\S\n]*\n/
/** Of links and addresses, where dollars are more often than two dollars are. */
const LINK_MARKS = /\]\(|\]\[|\[\[|:\/\//
/** What only formulas have, nearly: commands, and what is raised or lowered. Not `\$` and `_emphasis_`. */
const LATEX = /\\[a-zA-Z\\,;:!{}|]|(?:^|[\p{L}\p{N})\]}|'])[_^][\p{L}\p{N}{\\(+*'-]/u
const LATEX_FIRST = /^[\\_^]/
const WORD = /(?:^|\s)\p{L}\p{Ll}{2,}(?:\s|$)/u
/** Such as `or`. With an equals sign it may be a product. */
const SHORT_WORD = /(?:^|\s)\p{Ll}{2}(?:\s|$)/u

/** @param {string} src @param {number} from @returns {number} of the next dollar without a backslash; -1 for none */
export function nextDollar (src, from) {
  let at = src.indexOf(DOLLAR, from)
  while (at !== -1 && isEscaped(src, from, at)) at = src.indexOf(DOLLAR, at + 1)
  return at
}

/** @param {string} src @param {number} from @param {number} at */
function isEscaped (src, from, at) {
  let start = at
  while (start > from && src[start - 1] === '\\') start--
  return (at - start) % 2 === 1
}

/**
 * When a dollar is money, or a sign of a program, and when the mark of a formula: docs/decisions/0079.
 * @param {string} src @param {number} pos  of a dollar, with none before it
 * @returns {{mark: string, end: number}} the dollars there, and where the same ones end the formula; -1: no formula
 */
export function formulaAt (src, pos) {
  DOLLARS.lastIndex = pos
  const mark = String(DOLLARS.exec(src)?.[0])
  const start = pos + mark.length
  const end = mark === DOLLAR || mark === BLOCK ? nextDollar(src, start) : -1
  if (end <= start || !src.startsWith(mark, end) || src[end + mark.length] === DOLLAR) return { mark, end: -1 }
  const content = src.slice(start, end)
  const fits = mark === BLOCK || isMarkOf(content, { before: src[pos - 1] ?? '', after: src[end + 1] ?? '' })
  return { mark, end: fits && isLikelyFormula(content.trim()) ? end : -1 }
}

/** @param {string} content @param {{before: string, after: string}} beside  a character each; '' at the ends */
function isMarkOf (content, { before, after }) {
  if (LINK_MARKS.test(content)) return false
  if (SPACE.test(content[0]) || SPACE.test(content[content.length - 1]) || DIGIT.test(after)) return false
  return LATEX_FIRST.test(content) || (!BEFORE.test(before) && !AFTER.test(after))
}

/** @param {string} content */
function isLikelyFormula (content) {
  if (content === '' || OTHER_MARKS.test(content)) return false
  if (LATEX.test(content)) return true
  if (SPACE.test(content) && (WORD.test(content) || (SHORT_WORD.test(content) && !content.includes('=')))) return false
  return content.split(/[([{]/).length === content.split(/[)\]}]/).length
}
