import { createHash } from 'node:crypto'
import createError from '@fastify/error'
import MarkdownIt from 'markdown-it'
import sanitizeHtml from 'sanitize-html'

const TooLarge = createError('WIKI_PAGE_TOO_LARGE', 'The page would have %d bytes of %s; at most %d are possible.', 413)

/** Markup outweighs the text only in pages that are made to do harm; ordinary ones stay below twice their Markdown. */
const HTML_FACTOR_MAX = 4
/** Lists and quotes within each other; deeper ones only serve to make rendering slow. */
const NESTING_MAX = 100

/**
 * CommonMark and tables. No raw HTML. No images: nothing can be uploaded, the security policy forbids other sites' images,
 * and one that points at the counter would reset it whenever the page is read. Links are only made where the author makes them.
 */
const markdownIt = new MarkdownIt('commonmark', { html: false, maxNesting: NESTING_MAX }).enable('table').disable('image')

// The security policy forbids style attributes, so a column's alignment becomes a class.
for (const rule of ['th_open', 'td_open']) {
  markdownIt.renderer.rules[rule] = (tokens, index, options, _env, self) => {
    const align = /^text-align:(\w+)$/.exec(String(tokens[index].attrGet('style')))?.[1]
    tokens[index].attrs = align ? [['class', align]] : null
    return self.renderToken(tokens, index, options)
  }
}

/** The second lock on the door: what the renderer makes of Markdown, and nothing else. https://github.com/apostrophecms/sanitize-html */
const ALLOWED = {
  allowedTags: [
    'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'br', 'hr', 'blockquote', 'pre', 'code', 'em', 'strong', 'a',
    'ul', 'ol', 'li', 'table', 'thead', 'tbody', 'tr', 'th', 'td'
  ],
  allowedAttributes: { a: ['href', 'title'], ol: ['start'], code: ['class'], th: ['class'], td: ['class'] },
  allowedClasses: { code: ['language-*'], th: ['left', 'center', 'right'], td: ['left', 'center', 'right'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false
}

/**
 * @param {string} markdown
 * @param {number} maxBytes  of the Markdown; the HTML may have four times as many
 * @returns {{contentBytes: number, html: Buffer}} HTML that is safe to show, in UTF-8
 * @throws {Error} 413 when either is too large
 */
export function renderPage (markdown, maxBytes) {
  const contentBytes = limit(Buffer.byteLength(markdown), maxBytes, 'Markdown')
  const rendered = markdownIt.render(markdown)
  limit(rendered.length, HTML_FACTOR_MAX * maxBytes, 'HTML')
  const html = Buffer.from(sanitizeHtml(rendered, ALLOWED))
  limit(html.length, HTML_FACTOR_MAX * maxBytes, 'HTML')
  return { contentBytes, html }
}

/**
 * @param {number} bytes
 * @param {number} maxBytes
 * @param {string} what
 */
function limit (bytes, maxBytes, what) {
  if (bytes > maxBytes) throw new TooLarge(bytes, what, maxBytes)
  return bytes
}

/**
 * Short enough for a header, long enough that no two texts share it.
 * @param {(string | Buffer)[]} parts
 * @returns {string} 16 characters (96 bits)
 */
export function hashOf (...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 16)
}

/** @param {{maxBytes: number}} options */
export const createRenderer = ({ maxBytes }) => ({
  version: '0',
  async render (/** @type {string} */ markdown) {
    const { contentBytes, html } = renderPage(markdown, maxBytes)
    return { contentBytes, html: html.toString(), links: linksIn(markdown) }
  },
  async close () {}
})
const linksIn = (/** @type {string} */ markdown) => [...new Set([...markdown.matchAll(/\]\(\/wiki\/([^)#?]+)\)/g)].map(([, name]) => decodeURIComponent(name)))]
/** @typedef {ReturnType<typeof createRenderer>} Renderer */
export const withMissing = (/** @type {string} */ html, /** @type {Set<string>} */ missing) => Buffer.from([...missing].reduce((text, name) => text.replaceAll(`href="/wiki/${encodeURI(name)}"`, `href="/wiki/${encodeURI(name)}" class="missing"`), html))
