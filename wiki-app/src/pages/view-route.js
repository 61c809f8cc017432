import { COUNTER_NAME } from '../counter.js'
import { HTML } from '../views.js'
import { pageDocument } from './document.js'
import { isMisspelt, nameIn } from './address.js'
import { editUrl, historyUrl, viewUrl } from './name.js'
import { PageMissing } from './page-errors.js'
import { isConditional } from '../http/conditional-request.js'
import { createCachingOf, View } from './view.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {IncomingHttpHeaders} from 'node:http' */
/** @import {OriginCache} from '../caching/origin-cache.js' */
/** @import {FastPath} from '../http/fast-path.js' */
/** @import {Note} from '../observe/request-log.js' */
/** @import {Services} from '../services.js' */
/** @import {PageView} from './read-pages.js' */
/** @import {createSavedNotice} from './saved-notice.js' */

const PAGES = '/wiki/'
const COUNTER_URL = `${PAGES}${COUNTER_NAME}`

export const VIEW_ROUTE = `${PAGES}*`

/**
 * `runNow` returns undefined if the read would have to queue.
 * @typedef {Pick<Services, 'store' | 'policy'> & {cache?: OriginCache<View>, fastPath: FastPath<View | null>}} Sources
 * @typedef {{savedNotice: ReturnType<typeof createSavedNotice>, observe?: Note, isAvailable: () => boolean}} Others
 * @type {FastifyPluginAsync<Sources & Others & {runNow: <T>(read: () => Promise<T>) => Promise<T> | undefined}>}
 */
export async function viewRoute (app, { store, policy, savedNotice, cache, fastPath, observe, isAvailable, runNow }) {
  const cachingOf = createCachingOf(policy)

  fastPath.use({
    find ({ method, url = '', headers }) {
      if (method !== 'GET' || !url.startsWith(PAGES) || url === COUNTER_URL || url.includes('?')) return undefined
      if (!isAvailable()) return undefined
      const name = decoded(url.slice(PAGES.length))
      // Other spellings get a redirect.
      if (viewUrl(name) !== url) return undefined
      return cache === undefined ? runNow(() => lookUp(name, headers)) : cache.get(name)
    },
    ready: (view, headers) => view?.ready(headers),
    answered: observe && ((request, status, durationMs) => observe(request, VIEW_ROUTE, status, durationMs))
  })

  app.get(VIEW_ROUTE, (request, reply) => {
    const name = nameIn(request)
    // Otherwise caches would hold copies that differ in age.
    if (isMisspelt(request, viewUrl(name))) return reply.headers(policy.headers).redirect(viewUrl(name), 301)

    const saved = savedRevision(request.query)
    // After a save, this process may still cache the previous text.
    const found = fastPath.foundOf(request.raw) ?? (saved === null ? cachedOrRead(name, request.headers) : read(name))
    const send = (/** @type {View | null} */ view) => answer(name, saved, view, request, reply)
    // No promise for a cached page: that is the point of caching it.
    return found instanceof Promise ? found.then(send) : send(found)
  })

  /** @param {PageView | null} page */
  function viewOf (page) {
    if (page === null) return null
    const view = new View(page, cachingOf)
    // Responses of one read leave in a row: a client need not wake up for each.
    view.prepare()
    return view
  }

  /** @param {string} name @returns {Promise<View | null>} */
  const read = (name) => store.findView(name).then(viewOf)

  /** @param {string} name @param {IncomingHttpHeaders} headers */
  const lookUp = (name, headers) => isConditional(headers) ? revalidated(name, headers) : read(name)

  /** @param {string} name @param {IncomingHttpHeaders} headers */
  async function revalidated (name, headers) {
    const page = await store.findValidators(name)
    const view = page && new View(page, cachingOf)
    return view !== null && (!view.isThere || view.isCurrentFor(headers)) ? view : read(name)
  }

  /** @param {string} name @param {IncomingHttpHeaders} headers */
  const cachedOrRead = (name, headers) => cache === undefined
    ? lookUp(name, headers)
    : cache.get(name) ?? cache.through(name, () => read(name))

  /**
   * @param {string} name
   * @param {number | null} saved  the revision just saved; null for other views
   * @param {View | null} view @param {FastifyRequest} request @param {FastifyReply} reply
   */
  function answer (name, saved, view, request, reply) {
    const page = view && view.page
    // Not 301 (permanent): someone may create a page under the old name.
    if (page?.redirect_to) {
      withHeaders(reply, cachingOf(page)).header('page-revision', page.revision)
      return reply.redirect(viewUrl(page.redirect_to), 302)
    }
    if (view === null || page === null || page.deleted_at != null) {
      const urls = { createUrl: editUrl(name), ...(page && { historyUrl: historyUrl(name) }) }
      throw Object.assign(new PageMissing(name), urls)
    }
    // The URL may have the number of a future edit, and must not keep the text before it.
    if (saved !== null) {
      reply.type(HTML).headers({ 'page-revision': page.revision, 'cache-control': 'private, no-store' })
      const whole = /** @type {PageView} */ (page)
      if (saved > page.revision) return pageDocument(whole)
      return savedNotice(name, saved).then((notice) => pageDocument(whole, notice))
    }
    withHeaders(reply, view.head)
    return view.isCurrentFor(request.headers) ? reply.code(304).send() : view.document
  }
}

/** @param {FastifyReply} reply @param {string[]} head  alternating names and values */
function withHeaders (reply, head) {
  for (let index = 0; index < head.length; index += 2) reply.header(head[index], head[index + 1])
  return reply
}

/** @param {string} text  percent-encoded */
function decoded (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Not stored: the author sees the new text through every door.
 * @param {unknown} query
 * @returns {number | null} null for anything but a positive integer
 */
function savedRevision (query) {
  const { saved } = /** @type {{saved?: unknown}} */ (query)
  return typeof saved === 'string' && /^[1-9]\d{0,14}$/.test(saved) ? Number(saved) : null
}
