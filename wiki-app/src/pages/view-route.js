import { COUNTER_NAME } from '../counter.js'
import { HTML } from '../views.js'
import { pageDocument } from './document.js'
import { isMisspelt, nameIn } from './address.js'
import { editUrl, historyUrl, viewUrl } from './name.js'
import { PageMissing } from './page-errors.js'
import { isConditional } from '../http/conditional-request.js'
import { createCachingOf, View } from './view.js'

const PAGES = '/wiki/'
const COUNTER_URL = `${PAGES}${COUNTER_NAME}`

/** The pattern of pages' addresses: the label of views in metrics and log lines. */
export const VIEW_ROUTE = `${PAGES}*`

/**
 * `GET /wiki/{name}`: the page, the same for everybody, so that a cache can answer for the wiki.
 * @type {import('fastify').FastifyPluginAsync<{
 *   store: import('./store.js').PageStore,
 *   policy: import('../caching/cache-policy.js').CachePolicy,
 *   savedNotice: ReturnType<typeof import('./saved-notice.js').createSavedNotice>,
 *   cache?: import('../caching/origin-cache.js').OriginCache<View>,
 *   fastPath: import('../http/fast-path.js').FastPath<View | null>,
 *   observe?: import('../observe/request-log.js').Note,
 *   isAvailable: () => boolean,
 *   runNow: <T>(read: () => Promise<T>) => Promise<T> | undefined
 * }>}  `fastPath` answers before the framework while the database is present; `runNow` begins a read that need not wait
 * for others
 */
export async function viewRoute (app, { store, policy, savedNotice, cache, fastPath, observe, isAvailable, runNow }) {
  const cachingOf = createCachingOf(policy)

  fastPath.use({
    find ({ method, url = '', headers }) {
      if (method !== 'GET' || !url.startsWith(PAGES) || url === COUNTER_URL || url.includes('?')) return undefined
      if (!isAvailable()) return undefined
      const name = decoded(url.slice(PAGES.length))
      // In any other spelling it is not the page that is sent.
      if (viewUrl(name) !== url) return undefined
      return cache === undefined ? runNow(() => lookUp(name, headers)) : cache.get(name)
    },
    ready: (view, headers) => view?.ready(headers),
    answered: observe && ((request, status, durationMs) => observe(request, VIEW_ROUTE, status, durationMs))
  })

  app.get(VIEW_ROUTE, (request, reply) => {
    const name = nameIn(request)
    // One page, one URL: otherwise caches would hold copies that differ in age.
    if (isMisspelt(request, viewUrl(name))) return reply.headers(policy.headers).redirect(viewUrl(name), 301)

    const saved = savedRevision(request.query)
    // An author is sent back to what was just saved, of which a copy here may not know yet.
    const found = fastPath.foundOf(request.raw) ?? (saved === null ? keptOrRead(name, request.headers) : read(name))
    const send = (/** @type {View | null} */ view) => answer(name, saved, view, request, reply)
    // A kept page is answered without a promise: that is what keeping it is for.
    return found instanceof Promise ? found.then(send) : send(found)
  })

  /** @param {import('./read-pages.js').PageView | null} page */
  function viewOf (page) {
    if (page === null) return null
    const view = new View(page, cachingOf)
    // One read gives several pages. All their answers are made first and then sent in a row: a client that takes them
    // one by one would have to be woken for each.
    view.prepare()
    return view
  }

  /** @param {string} name @returns {Promise<View | null>} */
  const read = (name) => store.findView(name).then(viewOf)

  /**
   * @param {string} name
   * @param {import('node:http').IncomingHttpHeaders} headers
   */
  const lookUp = (name, headers) => isConditional(headers) ? revalidated(name, headers) : read(name)

  /**
   * Mostly in one read: a conditional request usually has the newest copy, and then its text is not read.
   * @param {string} name
   * @param {import('node:http').IncomingHttpHeaders} headers
   * @returns {Promise<View | null>}
   */
  async function revalidated (name, headers) {
    const page = await store.findValidators(name)
    const view = page && new View(page, cachingOf)
    return view !== null && (!view.isThere || view.isCurrentFor(headers)) ? view : read(name)
  }

  /**
   * @param {string} name
   * @param {import('node:http').IncomingHttpHeaders} headers
   */
  const keptOrRead = (name, headers) => cache === undefined
    ? lookUp(name, headers)
    : cache.get(name) ?? cache.through(name, () => read(name))

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
    if (page?.redirect_to) {
      withHeaders(reply, cachingOf(page)).header('page-revision', page.revision)
      return reply.redirect(viewUrl(page.redirect_to), 302)
    }
    if (view === null || page === null || page.deleted_at != null) {
      const urls = { createUrl: editUrl(name), ...(page && { historyUrl: historyUrl(name) }) }
      throw Object.assign(new PageMissing(name), urls)
    }
    // Never stored: an address with the number of an edit that is still to come must not keep the text before it.
    if (saved !== null) {
      reply.type(HTML).headers({ 'page-revision': page.revision, 'cache-control': 'private, no-store' })
      const whole = /** @type {import('./read-pages.js').PageView} */ (page)
      if (saved > page.revision) return pageDocument(whole)
      return savedNotice(name, saved).then((notice) => pageDocument(whole, notice))
    }
    withHeaders(reply, view.head)
    return view.isCurrentFor(request.headers) ? reply.code(304).send() : view.document
  }
}

/**
 * @param {import('fastify').FastifyReply} reply
 * @param {string[]} head  names and values in turn
 */
function withHeaders (reply, head) {
  for (let index = 0; index < head.length; index += 2) reply.header(head[index], head[index + 1])
  return reply
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
