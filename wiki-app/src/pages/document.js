import { hashOf } from '../hash.js'
import { escapeHtml, renderView } from '../views.js'
import { editUrl, historyUrl, linksUrl, namesAbove, rawUrl, revisionUrl, tagUrl, viewUrl } from './name.js'

/** @typedef {import('./store.js').PageView} PageView */

/** Cannot be part of a template. */
const MARK = '\u0000'
const FIELDS = ['title', 'noticeHtml', 'aboveHtml', 'contentHtml', 'tagsHtml', 'editUrl', 'historyUrl', 'linksUrl', 'rawUrl', 'revisionUrl', 'revision', 'modifiedAt', 'modified', 'size']

/** The page's template, rendered once and cut where a page's own data goes: constant text and names of fields alternate. */
const PIECES = renderView('page', Object.fromEntries(FIELDS.map((field) => [field, `${MARK}${field}${MARK}`]))).split(MARK)
const CONTENT_AT = PIECES.indexOf('contentHtml')

/**
 * A page as a reader gets it.
 * @param {Omit<PageView, 'html_hash' | 'deleted_at' | 'renderer' | 'rendered_at'>} page
 * @param {string} [noticeHtml]  a word to this reader only
 * @returns {Buffer} an HTML document in UTF-8
 */
export function pageDocument (page, noticeHtml = '') {
  const modifiedAt = page.modified_at.toISOString()
  /** @type {Record<string, string>} */
  const values = {
    title: escapeHtml(page._id),
    noticeHtml,
    aboveHtml: aboveHtml(page._id),
    tagsHtml: tagsHtml(page.tags ?? []),
    editUrl: escapeHtml(editUrl(page._id)),
    historyUrl: escapeHtml(historyUrl(page._id)),
    linksUrl: escapeHtml(linksUrl(page._id)),
    rawUrl: escapeHtml(rawUrl(page._id)),
    revisionUrl: escapeHtml(revisionUrl(page._id, page.revision)),
    revision: String(page.revision),
    modifiedAt,
    modified: readableTime(modifiedAt),
    size: readableSize(page.content_bytes)
  }
  const fill = (/** @type {string[]} */ pieces) => Buffer.from(pieces.map((piece, index) => index % 2 === 0 ? piece : values[piece]).join(''))
  return Buffer.concat([fill(PIECES.slice(0, CONTENT_AT)), page.html, fill(PIECES.slice(CONTENT_AT + 1))])
}

/**
 * @param {string} url
 * @param {string} text
 */
const link = (url, text) => `<a href="${escapeHtml(url)}" dir="auto">${escapeHtml(text)}</a>`

/** @param {string} name */
function aboveHtml (name) {
  const above = namesAbove(name)
  if (above.length === 0) return ''
  return `<nav class="above" aria-label="Pages above">${above.map((each) => link(viewUrl(each), each.slice(each.lastIndexOf('/') + 1))).join(' / ')} /</nav>\n`
}

/** @param {string[]} tags */
const tagsHtml = (tags) => tags.length === 0 ? '' : `<p class="tags">Tags: ${tags.map((tag) => link(tagUrl(tag), tag)).join(', ')}</p>\n`

/** Changes with anything in the templates, the style sheet or the way that data is shown. */
const LAYOUT_HASH = hashOf(pageDocument({ _id: 'a/b', tags: ['a', 'b'], revision: 0, html: Buffer.alloc(0), content_bytes: 0, modified_at: new Date(0) }))

/**
 * A strong validator (RFC 9110 §8.8.3): every byte of `pageDocument` without a notice follows from the name and these three.
 * @param {Pick<PageView, 'revision' | 'html_hash'>} page
 */
export const entityTag = (page) => `"${page.revision}-${page.html_hash}-${LAYOUT_HASH}"`

/** @param {string} isoTime */
export function readableTime (isoTime) {
  return `${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`
}

/** @param {number} bytes */
export function readableSize (bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}
