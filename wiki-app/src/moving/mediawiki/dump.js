import { createElements } from './elements.js'
import { openDump } from './open-dump.js'

/** @import {Element} from './elements.js' */

/**
 * @typedef {object} Site
 * @property {string} id  of the wiki, among others
 * @property {boolean} caseSensitive
 * @property {Map<number, string>} namespaces  their names there
 */

/**
 * @typedef {object} DumpRevision
 * @property {string} id
 * @property {string} timestamp
 * @property {string} author
 * @property {string} comment
 * @property {string} model
 * @property {string} text
 * @property {'deleted' | 'absent' | 'too-long' | null} lacks  why there is no text
 */

/** @typedef {{filename: string, author: string, contents: string, isTooLong: boolean}} DumpUpload */

/**
 * @typedef {{type: 'site', site: Site} |
 *   {type: 'page', title: string, id: string, ns: number, redirect: string | null} |
 *   {type: 'revision', revision: DumpRevision} |
 *   {type: 'upload', upload: DumpUpload} |
 *   {type: 'end'} |
 *   {type: 'broken', reason: string}} DumpEvent  `end`: of a page; `broken`: nothing comes after it
 */

/**
 * A dump of MediaWiki, element by element. https://www.mediawiki.org/wiki/Help:Export#Export_format
 * @param {string} path
 * @param {Parameters<typeof openDump>[1] & {uploads?: boolean}} options  `uploads`: the contents of files, too
 * @returns {AsyncGenerator<DumpEvent>}
 * @throws {Error} AbortError, ConfigError; of the file
 */
export async function * readDump (path, { uploads = false, ...options }) {
  const collector = new Collector(uploads)
  const elements = createElements(collector)
  try {
    for await (const text of openDump(path, options)) {
      elements.write(text)
      yield * collector.taken()
      if (elements.problem() !== null) break
    }
    elements.end()
    yield * collector.taken()
  } catch (error) {
    if (!(/** @type {NodeJS.ErrnoException} */ (error).code?.startsWith('Z_'))) throw error
    const { message } = /** @type {Error} */ (error)
    yield { type: 'broken', reason: `its compression is damaged, or it breaks off: ${message}` }
    return
  }
  const problem = elements.problem()
  if (problem !== null) yield { type: 'broken', reason: problem }
}

/** Puts elements together. */
class Collector {
  /** @type {DumpEvent[]} */
  #events = []
  /** @type {Map<string, string>} */
  #site = new Map()
  /** @type {Map<number, string>} */
  #namespaces = new Map()
  #page = { title: '', id: '', ns: 0, redirect: /** @type {string | null} */ (null) }
  #isAnnounced = false
  #revision = noRevision()
  #upload = noUpload()
  #uploads

  /** @param {boolean} uploads */
  constructor (uploads) {
    this.#uploads = uploads
    this.open = this.open.bind(this)
    this.close = this.close.bind(this)
  }

  taken () {
    const events = this.#events
    this.#events = []
    return events
  }

  /** @param {string} path @param {Record<string, string>} attributes */
  open (path, attributes) {
    if (path === 'page') {
      this.#page = { title: '', id: '', ns: 0, redirect: null }
      this.#isAnnounced = false
    } else if (path === 'page/redirect') this.#page.redirect = attributes.title ?? ''
    else if (path === 'page/revision') {
      this.#announce()
      this.#revision = noRevision()
    } else if (path === 'page/upload') this.#upload = noUpload()
  }

  /** @param {Element} element */
  close ({ path, attributes, text, isTooLong }) {
    if (path.startsWith('siteinfo')) return this.#closeSite(path, attributes, text)
    if (path.startsWith('page/revision')) return this.#closeRevision(path, attributes, text, isTooLong)
    if (path.startsWith('page/upload')) return this.#closeUpload(path, text, isTooLong)
    if (path === 'page/title') this.#page.title = text
    else if (path === 'page/id') this.#page.id = text
    else if (path === 'page/ns') this.#page.ns = Number(text)
    else if (path === 'page') {
      this.#announce()
      this.#events.push({ type: 'end' })
    }
  }

  #announce () {
    if (!this.#isAnnounced) this.#events.push({ type: 'page', ...this.#page })
    this.#isAnnounced = true
  }

  /** @param {string} path @param {Record<string, string>} attributes @param {string} text */
  #closeSite (path, attributes, text) {
    const name = path.slice('siteinfo/'.length)
    if (name === 'namespaces/namespace') this.#namespaces.set(Number(attributes.key), text)
    else if (path === 'siteinfo') {
      const of = (/** @type {string} */ each) => this.#site.get(each) ?? ''
      this.#events.push({
        type: 'site',
        site: {
          id: of('dbname') || of('base') || of('sitename'),
          caseSensitive: of('case') === 'case-sensitive',
          namespaces: this.#namespaces
        }
      })
    } else this.#site.set(name, text)
  }

  /** @param {string} path @param {Record<string, string>} attributes @param {string} text @param {boolean} isTooLong */
  #closeRevision (path, attributes, text, isTooLong) {
    const revision = this.#revision
    switch (path.slice('page/revision'.length)) {
      case '': this.#events.push({ type: 'revision', revision }); break
      case '/id': revision.id = text; break
      case '/timestamp': revision.timestamp = text; break
      case '/contributor/username': case '/contributor/ip': revision.author = text; break
      case '/comment': revision.comment = text; break
      case '/model': revision.model = text; break
      case '/text':
        revision.text = isTooLong ? '' : text
        revision.lacks = lackOf(attributes, text, isTooLong)
    }
  }

  /** @param {string} path @param {string} text @param {boolean} isTooLong */
  #closeUpload (path, text, isTooLong) {
    const upload = this.#upload
    switch (path.slice('page/upload'.length)) {
      case '': if (this.#uploads) this.#events.push({ type: 'upload', upload }); break
      case '/filename': upload.filename = text; break
      case '/contributor/username': case '/contributor/ip': upload.author = text; break
      case '/contents':
        if (this.#uploads) Object.assign(upload, { contents: isTooLong ? '' : text, isTooLong })
    }
  }
}

/** @returns {DumpRevision} */
const noRevision = () =>
  ({ id: '', timestamp: '', author: '', comment: '', model: 'wikitext', text: '', lacks: 'absent' })

/** @returns {DumpUpload} */
const noUpload = () => ({ filename: '', author: '', contents: '', isTooLong: false })

/** @param {Record<string, string>} attributes @param {string} text @param {boolean} isTooLong */
function lackOf (attributes, text, isTooLong) {
  if (isTooLong) return 'too-long'
  if (attributes.deleted !== undefined) return 'deleted'
  // A dump of stubs has only lengths.
  return text === '' && Number(attributes.bytes ?? 0) > 0 ? 'absent' : null
}
