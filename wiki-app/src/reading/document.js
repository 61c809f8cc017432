import { t } from '../language.js'
import { hashOf } from '../http/hash.js'
import { withoutTitle } from '../markdown/title.js'
import { readableSize, readableTime } from '../readable.js'
import { perSite } from '../site/site.js'
import { escapeHtml, renderView } from '../views.js'
import { encodeName, namesAbove, revisionUrl, tagUrl, treeUrl, viewUrl } from '../pages/name.js'
import { subpagesHtml } from './subpages-html.js'
import { pageOfTalk, topicUrl } from '../pages/talk.js'
import { talkHtml, toolUrls, withReplies } from './tools.js'
import { translationsHtml } from './translations.js'

/** @import {Person} from '../access/access.js' */
/** @import {AccessMode} from '../access/roles.js' */
/** @import {PageView} from '../pages/read-pages.js' */
/** @import {Reader} from '../views.js' */

/** No template can contain it. */
const MARK = '\u0000'
/** Each page's own name replaces it in all URLs. */
const NAME = 'name-of-the-page'

/**
 * @typedef {'title' | 'talkHtml' | 'noticeHtml' | 'aboveHtml' | 'contentHtml' | 'subpagesHtml' | 'tagsHtml' |
 *   'address' | 'revision' | 'modifiedAt' | 'modified' | 'size' | 'person'} Field
 */
const mark = (/** @type {Field} */ field) => `${MARK}${field}${MARK}`

/** @type {Field[]} */
const FIELDS = [
  'title', 'talkHtml', 'noticeHtml', 'aboveHtml', 'contentHtml', 'subpagesHtml', 'tagsHtml', 'revision', 'modifiedAt',
  'modified', 'size'
]
/** UTF-8 of a UTF-16 code unit. */
const UNIT_BYTES_MAX = 3

/**
 * What is around the content; it depends on the rights to write, and on whether the reader is known.
 * @typedef {object} Frame
 * @property {(Buffer | Field)[]} pieces  constant text and fields alternate
 * @property {number} constantBytes
 * @property {string} hash  changes with templates, style sheet and formats
 */

/**
 * @param {AccessMode} mode @param {boolean} isTalk @param {Pick<Person, 'role' | 'ofWiki'> | null} [known]  the reader
 * @returns {Frame}
 */
function createFrame (mode, isTalk, known) {
  const pieces = renderView('page', {
    ...toolUrls(NAME),
    ...Object.fromEntries(FIELDS.map((field) => [field, mark(field)])),
    topicUrl: isTalk ? topicUrl(NAME) : undefined,
    revisionUrl: revisionUrl(NAME, /** @type {any} */ (mark('revision'))),
    here: 'page'
  }, { mode, person: known ? { ...known, name: mark('person') } : null })
    .replaceAll(NAME, mark('address'))
    .split(MARK)
    .map((piece, index) => index % 2 === 0 ? Buffer.from(piece) : /** @type {Field} */ (piece))
  const constantBytes = pieces.reduce((sum, piece) => typeof piece === 'string' ? sum : sum + piece.length, 0)
  return { pieces, constantBytes, hash: hashOf(pour(isTalk ? TALK_EXAMPLE : EXAMPLE, '', { pieces, constantBytes })) }
}

/** @typedef {Omit<PageView, 'html_hash' | 'deleted_at' | 'renderer' | 'rendered_at'>} Shown */

/** @type {Shown} */
const EXAMPLE = {
  _id: 'a/b',
  tags: ['a', 'b'],
  subpages: { names: ['a', 'b', 'de'], missing: ['b'], more: true },
  revision: 0,
  html: /** @type {any} */ (Buffer.alloc(0)),
  content_bytes: 0,
  modified_at: new Date(0)
}

/** @type {Shown} */
const TALK_EXAMPLE = {
  ...EXAMPLE,
  _id: 'Talk:a',
  html: Buffer.from('<button form="_edit" name="section" value="1" aria-label="Edit section “a”">Edit</button>')
}

/**
 * @param {Shown} page @param {string} noticeHtml @param {Pick<Frame, 'pieces' | 'constantBytes'>} frame
 * @param {string} [person]  the name of a known reader
 */
function pour ({
  _id: name, html: stored, subpages, tags, revision, modified_at: modified, content_bytes: contentBytes
}, noticeHtml, { pieces, constantBytes }, person = '') {
  const content = withoutTitle(stored, name)
  const html = pageOfTalk(name) === null ? content : withReplies(content)
  const modifiedAt = modified.toISOString()
  /** @type {Record<Field, string>} */
  const texts = {
    title: escapeHtml(name),
    talkHtml: talkHtml(name),
    noticeHtml,
    aboveHtml: aboveHtml(name) + translationsHtml(name, subpages),
    contentHtml: '',
    subpagesHtml: subpagesHtml(name, subpages),
    tagsHtml: tagsHtml(tags ?? []),
    address: escapeHtml(encodeName(name)),
    revision: String(revision),
    modifiedAt,
    modified: readableTime(modifiedAt),
    size: readableSize(contentBytes),
    person: escapeHtml(person)
  }
  let bytesMax = constantBytes + html.length
  for (const piece of pieces) if (typeof piece === 'string') bytesMax += UNIT_BYTES_MAX * texts[piece].length

  // Written in place: a joined string would create garbage twice.
  const document = Buffer.allocUnsafe(bytesMax)
  let end = 0
  for (const piece of pieces) {
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

const texts = perSite(() => ({
  above: escapeHtml(t('Pages above')), nearby: escapeHtml(t('Pages nearby')), tags: escapeHtml(t('Tags:'))
}))

/** The link at its end becomes the tree in the margin, see assets/tree.js. @param {string} name */
export function aboveHtml (name) {
  if (!name.includes('/')) return ''
  const above = namesAbove(name)
  return `<nav class="above" aria-label="${texts().above}">${
    above.map((each) => link(viewUrl(each), each.slice(each.lastIndexOf('/') + 1))).join(' / ')
  } / <a href="${escapeHtml(treeUrl(above[above.length - 1]))}" rel="nofollow">${texts().nearby}</a></nav>\n`
}

/** @param {string[]} tags */
const tagsHtml = (tags) => tags.length === 0
  ? ''
  : `<p class="tags">${texts().tags} ${tags.map((tag) => link(tagUrl(tag), tag)).join(', ')}</p>\n`

/** Made when the first reader comes. @type {() => Map<string, Frame>} */
const frames = perSite(() => new Map())

/** @param {string} name @param {AccessMode} mode @param {Person | null} [person]  a known reader */
function frameOf (name, mode, person = null) {
  const isTalk = pageOfTalk(name) !== null
  const key = `${mode} ${person?.role} ${person?.ofWiki} ${isTalk}`
  const known = person && { role: person.role, ofWiki: person.ofWiki }
  const frame = frames().get(key) ?? createFrame(mode, isTalk, known)
  frames().set(key, frame)
  return frame
}

/**
 * @param {Shown} page @param {Reader} reader
 * @param {string} [noticeHtml]  for this reader only
 * @returns {Buffer} an HTML document in UTF-8
 */
export const pageDocument = (page, { mode, person }, noticeHtml = '') => person === null
  ? pour(page, noticeHtml, frameOf(page._id, mode))
  : pour(page, noticeHtml, frameOf(page._id, mode, person), person.name)

/**
 * Strong (RFC 9110 §8.8.3).
 * @param {Pick<PageView, '_id' | 'revision' | 'html_hash' | 'subpages_hash'>} page @param {AccessMode} mode
 */
export const entityTag = ({ _id: name, revision, html_hash: html, subpages_hash: subpages }, mode) =>
  `"${revision}-${html}-${subpages ? `${subpages}-` : ''}${frameOf(name, mode).hash}"`
