import { tagOf } from '../caching/invalidation.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'
import { HTML } from '../views.js'
import { entityTag, pageDocument } from './document.js'
import { hasCurrent, isConditional } from '../http/conditional-request.js'

/** @import {IncomingHttpHeaders} from 'node:http' */
/** @import {AccessMode} from '../access/roles.js' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {Ready} from '../http/fast-path.js' */
/** @import {PageValidators, PageView} from '../pages/read-pages.js' */
/** @import {Reader} from '../views.js' */

const HEAD = Object.entries({ ...SECURITY_HEADERS, 'content-type': HTML }).flat()
/** Head, objects, cache entry (2.4 kB on Node 20). */
const COPY_OVERHEAD_BYTES = 2_560
/** The most for a UTF-16 code unit. */
const UNIT_BYTES = 2

/** @typedef {(page: PageValidators) => string[]} CachingOf  alternating names and values of headers */

/** @param {CachePolicy} policy @returns {CachingOf} */
export function createCachingOf (policy) {
  const caching = Object.entries(policy.headers).flat()
  return policy.purgedBy === 'tags' ? (page) => [...caching, 'cache-tag', tagOf(page._id)] : () => caching
}

export class View {
  /** @type {CachingOf} */
  #cachingOf
  /** @type {AccessMode} */
  #mode
  /** @type {{etag: string, 'last-modified': string} | undefined} */
  #validators
  /** @type {string[] | undefined} */
  #head
  /** @type {Buffer | undefined} */
  #document
  /** @type {Ready | undefined} */
  #whole

  /**
   * @param {PageView | PageValidators} page  without its HTML only when the client has the newest copy
   * @param {CachingOf} cachingOf @param {AccessMode} mode
   */
  constructor (page, cachingOf, mode) {
    this.page = page
    this.#cachingOf = cachingOf
    this.#mode = mode
  }

  /** False: deleted or renamed. */
  get isThere () { return this.page.deleted_at == null && !this.page.redirect_to }
  get validators () {
    return (this.#validators ??= {
      etag: entityTag(this.page, this.#mode), 'last-modified': this.page.rendered_at.toUTCString()
    })
  }

  get document () { return (this.#document ??= this.documentFor({ mode: this.#mode, person: null })) }

  /** @param {Reader} reader @param {string} [noticeHtml] */
  documentFor (reader, noticeHtml) {
    return pageDocument(/** @type {PageView} */ (this.page), reader, noticeHtml)
  }

  /** Without Content-Length; names and values alternate. */
  get head () { return (this.#head ??= headOf(this.page, this.validators, this.#cachingOf(this.page))) }

  #wholeReady () {
    return (this.#whole ??= wholeOf(this.document, headOf(this.page, this.validators, this.#cachingOf(this.page))))
  }

  prepare () { if (this.isThere) this.#wholeReady() }

  /** @param {IncomingHttpHeaders} headers */
  isCurrentFor (headers) { return isConditional(headers) && hasCurrent(headers, this.validators) }

  /** @param {IncomingHttpHeaders} headers @returns {Ready | undefined} */
  ready (headers) {
    if (!this.isThere) return undefined
    return this.isCurrentFor(headers) ? { status: 304, head: this.head } : this.#wholeReady()
  }

  /** A page as read keeps the database's whole reply, of up to a hundred pages. */
  detached () {
    const { html, subpages, ...page } = /** @type {PageView} */ (this.page)
    const copy = new View(page, this.#cachingOf, this.#mode)
    if (!this.isThere) return copy
    // Not in Node's pool, and not longer than its content.
    copy.#document = Buffer.allocUnsafeSlow(this.document.length)
    copy.#document.set(this.document)
    return copy
  }

  get held_bytes () {
    const { _id: name, tags = [] } = /** @type {PageView} */ (this.page)
    const units = tags.reduce((sum, tag) => sum + tag.length, name.length)
    return (this.#document?.length ?? 0) + UNIT_BYTES * units + COPY_OVERHEAD_BYTES
  }
}

/**
 * @param {PageValidators} page @param {{etag: string, 'last-modified': string}} validators @param {string[]} caching
 */
const headOf = (page, { etag, 'last-modified': modified }, caching) => [
  ...HEAD, 'page-revision', String(page.revision), 'etag', etag, 'last-modified', modified, ...caching
]

/** @param {Buffer} document @param {string[]} head  becomes part of the result, and is changed @returns {Ready} */
function wholeOf (document, head) {
  head.push('content-length', String(document.length))
  return { status: 200, head, document }
}
