/** @typedef {import('markdown-it').Token} Token */

/**
 * A heading that is in no list, quote or note, with what is below it: up to the next one of its level or a higher one.
 * @typedef {object} Section
 * @property {string} title  without markup
 * @property {string} id  of its heading
 * @property {string} path  its title and those of the headings above it
 * @property {number} start  in UTF-16 code units of the text
 * @property {number} end  before the next heading; the text's length for the last one
 */

/** As markdown-it has them. */
const LINE_END = /\r\n|\n|\r/g

/**
 * @param {string} markdown @param {Token[]} tokens  of it, after the rules of headings.js
 * @returns {Section[]} by their order: the numbers in headings.js less one
 */
export function sectionsIn (markdown, tokens) {
  const starts = lineStarts(markdown)
  /** @type {{section: Section, signs: number, title: string}[]} */
  const open = []
  /** @type {Section[]} */
  const sections = []
  for (const { type, level, map, meta } of tokens) {
    if (type !== 'heading_open' || level !== 0 || map === null) continue
    const { signs, id, text: title } = /** @type {{signs: number, id: string, text: string}} */ (meta)
    const start = starts[map[0]]
    while (open.length > 0 && open[open.length - 1].signs >= signs) {
      const closed = open.pop()
      if (closed) closed.section.end = start
    }
    const path = JSON.stringify([...open.map((above) => above.title), title])
    const section = { title, id, path, start, end: markdown.length }
    sections.push(section)
    open.push({ section, signs, title })
  }
  return sections
}

/** @param {string} text */
const lineStarts = (text) => [0, ...[...text.matchAll(LINE_END)].map(({ 0: end, index }) => index + end.length)]
