import { hashOf } from '../http/hash.js'
import { escapeHtml, renderView } from '../views.js'
import { editUrl, encodeName, historyUrl, linksUrl, namesAbove, rawUrl, revisionUrl, tagUrl, viewUrl } from './name.js'

/** @import {PageView} from './read-pages.js' */

/** No template can contain it. */
const MARK = '\u0000'
/** Each page's own name replaces it in all URLs. */
const NAME = 'name-of-the-page'

/**
 * @typedef {'title' | 'noticeHtml' | 'aboveHtml' | 'contentHtml' | 'tagsHtml' | 'address' | 'revision' | 'modifiedAt' |
 *   'modified' | 'size'} Field
 */
const mark = (/** @type {Field} */ field) => `${MARK}${field}${MARK}`

/** Constant text and fields alternate. @type {(Buffer | Field)[]} */
const PIECES = renderView('page', {
  ...Object.fromEntries(
    /** @type {Field[]} */ ([
      'title', 'noticeHtml', 'aboveHtml', 'contentHtml', 'tagsHtml', 'revision', 'modifiedAt', 'modified', 'size'
    ]).map((field) => [field, mark(field)])
  ),
  editUrl: editUrl(NAME),
  historyUrl: historyUrl(NAME),
  linksUrl: linksUrl(NAME),
  rawUrl: rawUrl(NAME),
  revisionUrl: revisionUrl(NAME, /** @type {any} */ (mark('revision')))
})
  .replaceAll(NAME, mark('address'))
  .split(MARK)
  .map((piece, index) => index % 2 === 0 ? Buffer.from(piece) : /** @type {Field} */ (piece))
const CONSTANT_BYTES = PIECES.reduce((sum, piece) => typeof piece === 'string' ? sum : sum + piece.length, 0)
/** UTF-8 of a UTF-16 code unit. */
const UNIT_BYTES_MAX = 3

/**
 * @param {Omit<PageView, 'html_hash' | 'deleted_at' | 'renderer' | 'rendered_at'>} page
 * @param {string} [noticeHtml]  for this reader only
 * @returns {Buffer} an HTML document in UTF-8
 */
export function pageDocument ({
  _id: name, html, tags, revision, modified_at: modified, content_bytes: contentBytes
}, noticeHtml = '') {
  const modifiedAt = modified.toISOString()
  /** @type {Record<Field, string>} */
  const texts = {
    title: escapeHtml(name),
    noticeHtml,
    aboveHtml: aboveHtml(name),
    contentHtml: '',
    tagsHtml: tagsHtml(tags ?? []),
    address: escapeHtml(encodeName(name)),
    revision: String(revision),
    modifiedAt,
    modified: readableTime(modifiedAt),
    size: readableSize(contentBytes)
  }
  let bytesMax = CONSTANT_BYTES + html.length
  for (const piece of PIECES) if (typeof piece === 'string') bytesMax += UNIT_BYTES_MAX * texts[piece].length

  // Written in place: a joined string would create garbage twice.
  const document = Buffer.allocUnsafe(bytesMax)
  let end = 0
  for (const piece of PIECES) {
    if (typeof piece === 'string' && piece !== 'contentHtml') {
      end += document.write(texts[piece], end)
    } else {
      const bytes = piece === 'contentHtml' ? html : piece
      document.set(bytes, end)
      end += bytes.length
    }
  }
  return document.subarray(0, end)
}

/** @param {string} url @param {string} text */
const link = (url, text) => `<a href="${escapeHtml(url)}" dir="auto">${escapeHtml(text)}</a>`

/** @param {string} name */
function aboveHtml (name) {
  if (!name.includes('/')) return ''
  const above = namesAbove(name)
  return `<nav class="above" aria-label="Pages above">${
    above.map((each) => link(viewUrl(each), each.slice(each.lastIndexOf('/') + 1))).join(' / ')
  } /</nav>\n`
}

/** @param {string[]} tags */
const tagsHtml = (tags) => tags.length === 0
  ? ''
  : `<p class="tags">Tags: ${tags.map((tag) => link(tagUrl(tag), tag)).join(', ')}</p>\n`

/** Changes with templates, style sheet and formats. */
const LAYOUT_HASH = hashOf(pageDocument({
  _id: 'a/b',
  tags: ['a', 'b'],
  revision: 0,
  html: Buffer.alloc(0),
  content_bytes: 0,
  modified_at: new Date(0)
}))

/** Strong (RFC 9110 §8.8.3). @param {Pick<PageView, 'revision' | 'html_hash'>} page */
export const entityTag = (page) => `"${page.revision}-${page.html_hash}-${LAYOUT_HASH}"`

/** @param {string} isoTime */
export function readableTime (isoTime) {
  return `${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`
}

/** @param {number} bytes */
export function readableSize (bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}
