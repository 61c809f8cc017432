import MarkdownIt from 'markdown-it'
import { autolinks } from './autolinks.js'
import { callouts } from './callouts.js'
import { highlight } from './code.js'
import { comments } from './comments.js'
import { diagrams, diagramsIn } from './diagrams.js'
import { footnotes } from './footnotes.js'
import { createFormulas } from './formulas.js'
import { headings } from './headings.js'
import { htmlTags } from './html-tags.js'
import { links } from './links.js'
import { maths } from './math.js'
import { markBytesMax } from './missing.js'
import { sanitize } from './sanitize.js'
import { sectionsIn } from './sections.js'
import { tables } from './tables.js'
import { taskLists } from './task-lists.js'
import { wikiLinks } from './wiki-links.js'

/** Deeper nesting only slows down rendering. */
const NESTING_MAX = 40

/** Footnotes come before the rules that need the text in its shown order. */
const markdownIt = new MarkdownIt('commonmark', { html: false, maxNesting: NESTING_MAX, xhtmlOut: false, highlight })
  .enable(['table', 'strikethrough'])
  .use(tables).use(maths).use(callouts).use(comments).use(htmlTags).use(autolinks)
  .use(wikiLinks).use(footnotes).use(links).use(headings).use(taskLists).use(diagrams)

/**
 * Names of linked pages, labels of defined notes, what makes formulas HTML, drawings with the characters left for them.
 * @typedef {{links: Set<string>, footnotes: Set<string>, formulas: import('./formulas.js').Formulas,
 *   drawings: {bySource: Drawings, charsLeft: number}, isPrivate: boolean}} PageEnv
 */
/** @import {Drawings} from './diagrams.js' */

/**
 * @param {{markdown: string, maxBytes: number, drawings?: Drawings, isPrivate?: boolean}} task  `maxBytes` of HTML with
 *   all its links marked as missing; `isPrivate`: a page of a private space
 * @returns {{bytes: number, html: string, links: string[], diagrams: string[]}} `html`: safe to show; '' when `bytes`
 *   exceeds the limit, or when there are `diagrams`, which the next call needs as `drawings`
 */
export default function toHtml ({ markdown, maxBytes, drawings, isPrivate = false }) {
  const env = { ...createEnv(maxBytes, drawings), isPrivate }
  const tokens = markdownIt.parse(markdown, env)
  const diagrams = drawings === undefined ? diagramsIn(tokens) : []
  if (diagrams.length > 0) return { bytes: 0, html: '', links: [], diagrams }
  const rendered = markdownIt.renderer.render(tokens, markdownIt.options, env)
  if (rendered.length > maxBytes) return { bytes: Buffer.byteLength(rendered), html: '', links: [], diagrams }
  const html = sanitize(rendered)
  const bytes = Buffer.byteLength(html) + markBytesMax(html)
  return { bytes, html: bytes > maxBytes ? '' : html, links: [...env.links], diagrams }
}

/** @param {number} maxChars  of formulas; drawings have 3/4 @param {Drawings} [bySource] @returns {PageEnv} */
const createEnv = (maxChars, bySource = new Map()) => ({
  links: new Set(),
  footnotes: new Set(),
  drawings: { bySource, charsLeft: maxChars * 3 / 4 },
  isPrivate: false,
  formulas: createFormulas({ maxChars, escapeHtml: markdownIt.utils.escapeHtml })
})

/**
 * Takes as long as `toHtml`, nearly, so only a worker thread may call it.
 * @param {string} markdown @returns {import('./sections.js').Section[]}
 */
export const sectionsOf = (markdown) => sectionsIn(markdown, markdownIt.parse(markdown, createEnv(0)))

/**
 * Definitions such as `[a]: /b` count for all of a text, wherever they stand. For a worker thread, too.
 * @param {string} markdown
 */
export function definesLinks (markdown) {
  /** @type {PageEnv & {references?: Record<string, any>}} */
  const env = createEnv(0)
  markdownIt.parse(markdown, env)
  return Object.keys(env.references ?? {}).length > 0
}
