import MarkdownIt from 'markdown-it'
import { highlight } from './code.js'
import { footnotes } from './footnotes.js'
import { headings } from './headings.js'
import { links } from './links.js'
import { markBytesMax } from './missing.js'
import { sanitize } from './sanitize.js'
import { tables } from './tables.js'
import { taskLists } from './task-lists.js'
import { wikiLinks } from './wiki-links.js'

/** Lists and quotes within each other; deeper ones only serve to make rendering slow. */
const NESTING_MAX = 40

/**
 * CommonMark with tables, strikethrough, task lists, footnotes and wiki links. No raw HTML. Links are only made where the
 * author makes them. Footnotes are placed before the rules that go through the text as it will be shown.
 */
const markdownIt = new MarkdownIt('commonmark', { html: false, maxNesting: NESTING_MAX, xhtmlOut: false, highlight })
  .enable(['table', 'strikethrough'])
  .use(tables).use(wikiLinks).use(footnotes).use(links).use(headings).use(taskLists)

/** @typedef {{links: Set<string>, footnotes: Set<string>}} PageEnv  names of the pages linked, labels of the notes defined */

/**
 * Runs in a thread of the renderer's.
 * @param {{markdown: string, maxBytes: number}} task  of the HTML, when all its links are marked as missing
 * @returns {{bytes: number, html: string, links: string[]}} `html` is safe to show, and '' when `bytes` are too many
 */
export default function toHtml ({ markdown, maxBytes }) {
  const env = /** @satisfies {PageEnv} */ ({ links: new Set(), footnotes: new Set() })
  const rendered = markdownIt.render(markdown, env)
  if (rendered.length > maxBytes) return { bytes: Buffer.byteLength(rendered), html: '', links: [] }
  const html = sanitize(rendered)
  const bytes = Buffer.byteLength(html) + markBytesMax(html)
  return { bytes, html: bytes > maxBytes ? '' : html, links: [...env.links] }
}
