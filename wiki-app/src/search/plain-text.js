import { formulaAt, nextDollar } from '../markdown/dollars.js'

const LINK = /(?<!\\)!?\[([^[\]\n]{0,400})\](?:\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^[\]\n]{0,200}\])/g

/** As in markdown/math.js. */
const FENCED_FORMULA = /(?<=^ {0,3}```math *\n)[^]{1,4000}?(?=^ {0,3}```)/gm
/** Signs of a formula are none of Markdown's. Until the end they are other characters, which Unicode leaves to us. */
const SIGN = /[!-/:-@[-`{-~]/g
const HIDDEN = /[\uE021-\uE07E]/g
const HIDDEN_FROM = 0xE000

/**
 * A snippet is cut anywhere, so there is nothing to parse. Every repetition is bounded or ends at the first other
 * character: hostile texts take no longer than others.
 * @type {[RegExp, string][]}
 */
const STEPS = [
  [/[^\S\n]+/g, ' '],
  [/<!--[^]{0,1000}?-->/g, ''],
  // Lines of marks only: fences, rules, underlines of headings, rows of dashes in tables.
  [/^[ >]*(?:`{3,}|~{3,})[^\n`]*$/gm, ''],
  [/^[ >]*(?:[-=*_] ?){3,}$/gm, ''],
  [/^[ >]*\|? ?:?-+:? ?(?:\| ?:?-+:? ?)+\|? ?$/gm, ''],
  // Where links lead, and the labels of footnotes.
  [/^ ?\[[^\]\n^][^\]\n]{0,200}\]:[^\n]*$/gm, ''],
  [/^ ?\[\^[^\]\n]{1,200}\]:/gm, ''],
  // What begins a line: quotes, callouts, items, task boxes, headings.
  [/^ ?(?:> ?)+(?:\[![A-Za-z]{1,20}\])?/gm, ''],
  [/^ ?(?:[-+*]|\d{1,9}[.)]) (?:\[[ xX]\] )?/gm, ''],
  [/^ ?#{1,6}(?: |$)/gm, ''],
  [/ #{1,6} ?$/gm, ''],
  [/<(https?:\/\/[^<>\s]{1,1000})>/g, '$1'],
  [/<br ?\/?>/gi, ' '],
  [/<\/?[a-z][^<>\n]{0,500}>/gi, ''],
  [/(?<!\\)\[\^[^\]\n]{1,200}\]/g, ''],
  [/(?<!\\)\[\[[^\]|\n]{1,400}\|([^\]\n]{1,400})\]\]/g, '$1'],
  [/(?<!\\)\[\[([^\]\n]{1,400})\]\]/g, '$1'],
  // Twice, for a picture in a link; then one that the cut has left half of.
  [LINK, '$1'],
  [LINK, '$1'],
  [/\]\([^()\n]{0,1000}(?:\)|$)/g, ''],
  [/(?<!\\)(?:`+|~~+|\*{2,})/g, ''],
  [/(?<![\p{L}\p{N}\\])[*_]{1,3}(?=\S)|(?<=[^\s\\])[*_]{1,3}(?![\p{L}\p{N}])/gu, ''],
  [/(?<!\\)\|/g, ' '],
  [/\\([!-/:-@[-`{-~])/g, '$1'],
  [/&nbsp;/g, ' '],
  [/&lt;/g, '<'],
  [/&gt;/g, '>'],
  [/&quot;/g, '"'],
  [/&amp;/g, '&'],
  [/\s+/gu, ' ']
]

/**
 * @param {string} markdown  a few kB
 * @returns {string} its text on one line, without Markdown and HTML, not escaped; formulas as they are written
 */
export const plainText = (markdown) => STEPS
  .reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), hideFormulas(markdown))
  .replace(HIDDEN, (sign) => String.fromCharCode(sign.charCodeAt(0) - HIDDEN_FROM))
  .trim()

/** @param {string} markdown */
function hideFormulas (markdown) {
  let [text, at] = ['', 0]
  for (let start = nextDollar(markdown, 0); start !== -1; start = nextDollar(markdown, at)) {
    const { mark, end } = formulaAt(markdown, start)
    const after = (end === -1 ? start : end) + mark.length
    const part = markdown.slice(start, after)
    text += markdown.slice(at, start) + (end === -1 ? part : hidden(part))
    at = after
  }
  return `${text}${markdown.slice(at)}`.replace(FENCED_FORMULA, hidden)
}

/** @param {string} formula */
const hidden = (formula) =>
  formula.replace(SIGN, (sign) => String.fromCharCode(sign.charCodeAt(0) + HIDDEN_FROM))
