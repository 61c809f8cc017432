import { parse, postprocess, preprocess } from 'micromark'
import { gfmFootnote } from 'micromark-extension-gfm-footnote'
import { gfmTable } from 'micromark-extension-gfm-table'
import { decodeString } from 'micromark-util-decode-string'

/**
 * A part of a text, from `start` to before `end`, in UTF-16 code units.
 * @typedef {{start: number, end: number}} Range
 * @typedef {object} Link
 * @property {string} destination  of a link, a picture or a definition; without escapes
 * @property {boolean} [isWiki]  pandoc made it of a wiki's link
 * @typedef {Range & Link} LinkPlace
 * @typedef {object} WikiLink
 * @property {boolean} embeds  `![[…]]`, as Obsidian shows a picture
 * @property {string} page
 * @property {string} [section]
 * @property {string} [label]
 * @property {string} separator  what stands before a label; within a table the bar is escaped
 * @typedef {Range & WikiLink} WikiPlace
 * @typedef {LinkPlace | WikiPlace} Place
 */

/** The wiki's own rule (markdown/wiki-links.js), with an exclamation mark, and the escaped bar of tables. */
const WIKI_LINK = /(!?)\[\[([^[\]|#\n]{0,500}?)(?:#([^[\]|\n]{1,500}?))?(?:(\\?\|)([^[\]\n]{1,500}))?\]\]/g
const CODE = new Set(['codeFenced', 'codeIndented', 'codeText'])
const DESTINATION = new Set(['resourceDestination', 'definitionDestination'])
const DESTINATION_TEXT = new Set(['resourceDestinationString', 'definitionDestinationString'])
/** Pandoc writes it behind the links of a wiki. */
const WIKI_TITLE = 'wikilink'

// The wiki shows HTML as text, with links in it. Emphasis changes no link, and takes quadratic time.
const OPTIONS = {
  extensions: [gfmTable(), gfmFootnote(), { disable: { null: ['attention', 'htmlFlow', 'htmlText'] } }]
}

/**
 * Takes seconds for a long text, so only a worker thread may call it. Code is left out.
 * @param {string} text  Markdown @returns {Place[]} by their order in the text
 */
export function linkPlaces (text) {
  const { links, code, tables } = partsOf(text)
  const closed = [...code, ...links].sort(byStart)
  const wiki = wikiLinks(text, createWithin(closed), createWithin(tables))
  return [...links.filter(({ destination }) => destination !== ''), ...wiki].sort(byStart)
}

/** @param {Range} some @param {Range} other */
const byStart = (some, other) => some.start - other.start

/** @param {string} text */
function partsOf (text) {
  /** @type {LinkPlace[]} */
  const links = []
  /** @type {Range[]} */
  const code = []
  /** @type {Range[]} */
  const tables = []
  // The parser leaves out a byte order mark.
  const shift = text.startsWith('\ufeff') ? 1 : 0
  const document = parse(OPTIONS).document()
  for (const [step, { type, start: { offset: from }, end: { offset: to } }] of
    postprocess(document.write(preprocess()(text, undefined, true)))) {
    if (step !== 'enter') continue
    const range = { start: from + shift, end: to + shift }
    const inside = () => text.slice(range.start, range.end)
    const link = links[links.length - 1]
    if (CODE.has(type)) code.push(range)
    else if (type === 'table') tables.push(range)
    else if (DESTINATION.has(type)) links.push({ ...range, destination: '' })
    else if (DESTINATION_TEXT.has(type)) link.destination = decodeString(inside())
    else if (type === 'resourceTitle' && inside().slice(1, -1) === WIKI_TITLE) {
      Object.assign(link, { isWiki: true, end: range.end })
    }
  }
  return { links, code, tables }
}

/**
 * @param {string} text @param {(range: Range) => boolean} isClosed @param {(range: Range) => boolean} isInTable
 * @returns {WikiPlace[]}
 */
function wikiLinks (text, isClosed, isInTable) {
  const places = []
  for (const { index: start, 0: whole, 1: mark, 2: page, 3: section, 4: bar, 5: label } of text.matchAll(WIKI_LINK)) {
    const range = { start, end: start + whole.length }
    if (isEscaped(text, start) || isClosed(range)) continue
    const separator = bar ?? (isInTable(range) ? '\\|' : '|')
    places.push({ ...range, embeds: mark !== '', page: page.trim(), section, label: label?.trim(), separator })
  }
  return places
}

/** @param {string} text @param {number} at */
function isEscaped (text, at) {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

/**
 * @param {Range[]} ranges  sorted by their starts
 * @returns {(range: Range) => boolean} whether a range touches one of them; asked in the order of the text
 */
function createWithin (ranges) {
  let next = 0
  let reached = 0
  return ({ start, end }) => {
    for (; next < ranges.length && ranges[next].start < end; next++) reached = Math.max(reached, ranges[next].end)
    return start < reached
  }
}
