import { COUNTER_NAME } from '../counter.js'
import { tagOf } from '../invalidation.js'
import { SECURITY_HEADERS } from '../security-headers.js'
import { HTML } from '../views.js'
import { answerFirst } from './answer-first.js'
import { entityTag, pageDocument } from './document.js'
import { isMisspelt, nameIn } from './address.js'
import { editUrl, historyUrl, viewUrl } from './name.js'
import { PageMissing } from './store.js'
import { hasCurrent, isConditional } from './validators.js'

const PAGES = '/wiki/'
const COUNTER_URL = `${PAGES}${COUNTER_NAME}`
const HEAD = Object.entries({ ...SECURITY_HEADERS, 'content-type': HTML }).flat()

/** @param {import('./store.js').PageValidators} page */
const validatorsOf = (page) => ({ etag: entityTag(page), 'last-modified': page.rendered_at.toUTCString() })

/** @param {import('./store.js').PageValidators} page @returns {boolean} false: it has been deleted, or has moved */
const isThere = (page) => page.deleted_at == null && !page.redirect_to

/** @typedef {ReturnType<typeof validatorsOf>} Validators */

/** A page with what is sent of it, made when it is first asked for: what is deleted or has moved has nothing to send. */
export class View {
  /** @type {Validators | undefined} */
  #validators
  /** @type {Buffer | undefined} */
  #document
  /** @type {import('./answer-first.js').Ready | undefined} */
  #ready

  /** @param {import('./store.js').PageView} page */
  constructor (page) { this.page = page }

  get validators () { return (this.#validators ??= validatorsOf(this.page)) }
  get document () { return (this.#document ??= pageDocument(this.page)) }

  /**
   * @param {(page: import('./store.js').PageValidators, validators: Validators) => string[]} headOf
   * @returns {import('./answer-first.js').Ready}
   */
  ready (headOf) {
    return (this.#ready ??= { status: 200, head: [...headOf(this.page, this.validators), 'content-length', String(this.document.length)], document: this.document })
  }
}

/**
 * `GET /wiki/{name}`: the page, the same for everybody, so that a cache can answer for the wiki.
 * @type {import('fastify').FastifyPluginAsync<{
 *   store: import('./store.js').PageStore,
 *   policy: import('../cache-policy.js').CachePolicy,
 *   cache?: import('./origin-cache.js').OriginCache<View>,
 *   first?: {begun: (method: string) => void, left: (request: import('node:http').IncomingMessage) => void, isPresent: () => boolean, atOnce: <T>(read: () => Promise<T>) => Promise<T> | undefined}
 * }>}  `first`: with it pages are answered before the framework sees the request, while the database is present; `atOnce` begins a read that need not wait for others
 */
export async function viewRoute (app, { store, policy, cache, first }) {
  const caching = Object.entries(policy.headers).flat()
  const read = (/** @type {string} */ name) => store.findView(name).then((page) => page && new View(page))

  if (first !== undefined) {
    answerFirst(app, (request) => {
      const { method, url = '', headers } = request
      if (method !== 'GET' || !url.startsWith(PAGES) || url === COUNTER_URL || url.includes('?') || !first.isPresent()) return undefined
      const name = decoded(url.slice(PAGES.length))
      // In any other spelling it is not the page that is sent.
      if (viewUrl(name) !== url) return undefined
      if (cache === undefined) return first.atOnce(() => readyFor(name, headers))
      const kept = isConditional(headers) ? undefined : cache.get(name)
      return kept !== undefined && isThere(kept.page) ? kept.ready(headOf) : undefined
    }, first)
  }

  /**
   * @param {string} name
   * @param {import('node:http').IncomingHttpHeaders} headers
   * @returns {Promise<import('./answer-first.js').Ready | undefined>} undefined: there is no page to send
   */
  async function readyFor (name, headers) {
    const known = isConditional(headers) ? await findKnown(name, headers) : null
    if (known !== null) return { status: 304, head: headOf(known.page, known.validators) }
    const page = await store.findView(name)
    return page !== null && isThere(page) ? new View(page).ready(headOf) : undefined
  }

  /**
   * For somebody who has a copy: mostly it is the newest, and then the text is not read.
   * @param {string} name
   * @param {import('node:http').IncomingHttpHeaders} headers
   * @returns {Promise<{page: import('./store.js').PageValidators, validators: Validators} | null>} null: the text has to be read
   */
  async function findKnown (name, headers) {
    const page = await store.findValidators(name)
    if (page === null || !isThere(page)) return null
    const validators = validatorsOf(page)
    return hasCurrent(headers, validators) ? { page, validators } : null
  }

  // What is kept here is answered at once, without a promise: that is what keeping it is for.
  app.get('/wiki/*', (request, reply) => {
    const name = nameIn(request)
    // One page, one URL: otherwise caches would hold copies that differ in age.
    if (isMisspelt(request, viewUrl(name))) return reply.headers(policy.headers).redirect(viewUrl(name), 301)

    const saved = savedRevision(request.query)
    // An author is sent back to what was just saved, of which a copy here may not know yet.
    const kept = saved === null ? cache?.get(name) : undefined
    if (kept !== undefined) return answer(name, null, kept, request, reply)
    if (saved === null && cache !== undefined) return cache.through(name, () => read(name)).then((view) => answer(name, null, view, request, reply))
    if (saved === null && isConditional(request.headers)) return revalidate(name, request, reply)
    return read(name).then((view) => answer(name, saved, view, request, reply))
  })

  /**
   * @param {string} name
   * @param {import('fastify').FastifyRequest} request
   * @param {import('fastify').FastifyReply} reply
   */
  async function revalidate (name, request, reply) {
    const known = await findKnown(name, request.headers)
    return known === null ? answer(name, null, await read(name), request, reply) : describe(reply, known.page, known.validators).code(304).send()
  }

  /**
   * @param {string} name
   * @param {number | null} saved  the revision that the reader has just made
   * @param {View | null} view
   * @param {import('fastify').FastifyRequest} request
   * @param {import('fastify').FastifyReply} reply
   */
  function answer (name, saved, view, request, reply) {
    const page = view && view.page
    // Not 301: someone may write a page under the old name again.
    if (page?.redirect_to) return reply.headers(cachingOf(name)).header('page-revision', page.revision).redirect(viewUrl(page.redirect_to), 302)
    if (view === null || page === null || page.deleted_at != null) throw Object.assign(new PageMissing(name), { createUrl: editUrl(name), ...(page && { historyUrl: historyUrl(name) }) })
    if (saved !== null && saved <= page.revision) {
      reply.type(HTML).headers({ 'page-revision': page.revision, 'cache-control': 'private, no-store' })
      return pageDocument(page, savedNotice(saved, policy))
    }
    const { validators } = view
    describe(reply, page, validators)
    if (hasCurrent(request.headers, validators)) return reply.code(304).send()
    return view.document
  }

  /**
   * @param {import('fastify').FastifyReply} reply
   * @param {import('./store.js').PageValidators} page
   * @param {Validators} validators
   */
  const describe = (reply, page, validators) => reply.type(HTML).headers(headersOf(page, validators))

  /**
   * @param {import('./store.js').PageValidators} page
   * @param {Validators} validators
   */
  const headersOf = (page, validators) => ({ 'page-revision': page.revision, ...validators, ...cachingOf(page._id) })

  /**
   * @param {import('./store.js').PageValidators} page
   * @param {Validators} validators
   * @returns {string[]} the same with those of every answer, names and values in turn
   */
  const headOf = (page, validators) => [
    ...HEAD, 'page-revision', String(page.revision), 'etag', validators.etag, 'last-modified', validators['last-modified'], ...caching, ...(policy.purgedBy === 'tags' ? ['cache-tag', tagOf(page._id)] : [])
  ]

  /** @param {string} name */
  function cachingOf (name) {
    return policy.purgedBy === 'tags' ? { ...policy.headers, 'cache-tag': tagOf(name) } : policy.headers
  }
}

/** @param {string} text  as it stands in an address */
function decoded (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The query that an author is sent back with. Its answer is not stored, so the author sees the new text through every door.
 * @param {unknown} query
 * @returns {number | null} null for everything but a whole number
 */
function savedRevision (query) {
  const { saved } = /** @type {{saved?: unknown}} */ (query)
  return typeof saved === 'string' && /^[1-9]\d{0,14}$/.test(saved) ? Number(saved) : null
}

/**
 * @param {number} revision
 * @param {import('../cache-policy.js').CachePolicy} policy
 */
function savedNotice (revision, { staleS, purgedBy }) {
  if (purgedBy !== null) return notice(revision, 'The caches are being told: others see it from then on, mostly within a second.')
  return notice(revision, staleS > 0
    ? `Others who read through a caching door may see the previous text for up to ${staleS} s.`
    : 'Everybody sees it from now on.')
}

/**
 * @param {number} revision
 * @param {string} others  when they see it
 */
const notice = (revision, others) => `<p class="notice" role="status">Saved as revision ${revision}. ${others}</p>`
