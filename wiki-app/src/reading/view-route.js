import { isPrivate, modeOf } from '../access/access.js'
import { COUNTER_NAME } from '../counter.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { HTML, readerOf, wantsHtml } from '../views.js'
import { isMisspelt, nameIn, queryOf } from './address.js'
import { createInvitation } from './home.js'
import { sendMissing } from './missing-page.js'
import { viewUrl } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { isConditional } from '../http/conditional-request.js'
import { createBoundedReads } from './bounded-reads.js'
import { sendWithin } from '../spaces/redirects.js'
import { createCachingOf, View } from './view.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {IncomingHttpHeaders} from 'node:http' */
/** @import {OriginCache} from '../caching/origin-cache.js' */
/** @import {PurgeLogWatch} from '../purge-log/watch.js' */
/** @import {FastPath} from '../http/fast-path.js' */
/** @import {Note} from '../observe/request-log.js' */
/** @import {Services} from '../services.js' */
/** @import {FindSpace} from '../spaces/find-space.js' */
/** @import {createSavedNotice} from './saved-notice.js' */
/** @import {CachingOf} from './view.js' */
/** @import {AccessMode} from '../access/roles.js' */

/** @typedef {ReturnType<typeof createSavedNotice>} SavedNotice */

const PAGES = '/wiki/'
const COUNTER_URL = `${PAGES}${COUNTER_NAME}`

const VIEW_ROUTE = `${PAGES}*`
const HOME_ROUTE = '/'

/** Patterns of the routes that show pages. */
export const VIEW_ROUTES = [VIEW_ROUTE, HOME_ROUTE]

/** The list of pages had this address once. */
const HOME_SCHEMA = { querystring: { type: 'object', properties: { q: {}, after: {} } } }

/**
 * `home`: the name of the page at `/`; `watch`: for a policy with a bound. `runNow` returns undefined if the read would
 * have to queue.
 * @typedef {Pick<Services, 'store' | 'policy' | 'history'> &
 *   {cache?: OriginCache<View>, watch?: PurgeLogWatch, home: string, findSpace?: FindSpace['find']}} Sources
 * @typedef {{fastPath: FastPath<View | null>, observe?: Note, isAvailable: () => boolean}} Quick
 * @typedef {{savedNotice: SavedNotice, runNow: <T>(read: () => Promise<T>) => Promise<T> | undefined}} Others
 * @type {FastifyPluginAsync<Sources & Quick & Others>}
 */
export async function viewRoute (app, { home, cache, watch, fastPath, observe, isAvailable, runNow, ...services }) {
  const { store, policy, history, savedNotice, findSpace } = services
  const mode = modeOf(app)
  const cachingOf = createCachingOf(policy)
  const reads = createReads({ store, cache, cachingOf, mode, isShared: !isPrivate(app) })
  const { read, lookUp, cachedOrRead } = watch && policy.boundMs !== undefined
    ? createBoundedReads(reads, { watch, boundMs: policy.boundMs, cachingOf })
    : reads
  const answer = createAnswer({ store, savedNotice, cachingOf, findSpace })
  const invite = createInvitation({ history, policy, home })

  fastPath.use({
    find ({ method, url = '', headers }) {
      const name = method === 'GET' ? nameAt(url, home) : undefined
      if (name === undefined || !isAvailable()) return undefined
      return cache === undefined ? runNow(() => lookUp(name, headers)) : cache.get(name)
    },
    ready: (view, headers) => view?.ready(headers),
    answered: observe && ((request, status, durationMs) =>
      observe(request, request.url === HOME_ROUTE ? HOME_ROUTE : VIEW_ROUTE, status, durationMs))
  })

  app.get(VIEW_ROUTE, (request, reply) => {
    const name = nameIn(request)
    // Otherwise caches would hold copies that differ in age.
    if (isMisspelt(request, viewUrl(name))) return reply.headers(policy.headers).redirect(viewUrl(name), 301)

    const saved = revisionIn(request.query, 'saved')
    // After a save, this process may still cache the previous text.
    const found = fastPath.foundOf(request.raw) ?? (saved === null ? cachedOrRead(name, request.headers) : read(name))
    const send = (/** @type {View | null} */ view) => answer(name, saved, view, request, reply)
    // No promise for a cached page: that is the point of caching it.
    return found instanceof Promise ? found.then(send) : send(found)
  })

  app.get(HOME_ROUTE, { schema: HOME_SCHEMA, onRequest: redirectUnknownQuery }, async (request, reply) => {
    const query = queryOf(request)
    if (query !== '') return reply.header('cache-control', 'no-store').redirect(`/pages${query}`, 301)
    const view = await (fastPath.foundOf(request.raw) ?? cachedOrRead(home, request.headers))
    return isMissing(view) ? invite(request, reply) : answer(home, null, view, request, reply)
  })

  for (const url of ['/wiki', PAGES]) {
    app.get(url, { onRequest: redirectUnknownQuery }, async (_request, reply) =>
      reply.header('cache-control', policy.listControl).redirect(HOME_ROUTE, 301))
  }
}

/** @param {string} url @param {string} home @returns {string | undefined} the page's name; undefined: not for here */
function nameAt (url, home) {
  if (url === HOME_ROUTE) return home
  if (!url.startsWith(PAGES) || url === COUNTER_URL || url.includes('?')) return undefined
  const name = decoded(url.slice(PAGES.length))
  // Other spellings get a redirect.
  return viewUrl(name) === url ? name : undefined
}

/** @param {View | null} view */
const isMissing = (view) => view === null || (!view.isThere && !view.page.redirect_to)

/**
 * @param {Pick<Sources, 'store' | 'cache'> & {cachingOf: CachingOf, mode: AccessMode, isShared: boolean}} parts
 *   `isShared`: a document is the same for all readers
 */
function createReads ({ store, cache, cachingOf, mode, isShared }) {
  /** @param {string} name @param {CachingOf} [caching] @returns {Promise<View | null>} */
  const read = (name, caching = cachingOf) => store.findView(name).then((page) => {
    if (page === null) return null
    const view = new View(page, caching, mode)
    // Responses of one read leave in a row: a client need not wake up for each.
    if (isShared) view.prepare()
    return view
  })

  /** @param {string} name @param {IncomingHttpHeaders} headers @param {CachingOf} [caching] */
  const lookUp = (name, headers, caching) =>
    isConditional(headers) ? revalidated(name, headers, caching) : read(name, caching)

  /** @param {string} name @param {IncomingHttpHeaders} headers @param {CachingOf} [caching] */
  async function revalidated (name, headers, caching = cachingOf) {
    const page = await store.findValidators(name)
    const view = page && new View(page, caching, mode)
    return view !== null && (!view.isThere || view.isCurrentFor(headers)) ? view : read(name, caching)
  }

  /** @param {string} name @param {IncomingHttpHeaders} headers */
  const cachedOrRead = (name, headers) => cache === undefined
    ? lookUp(name, headers)
    : cache.get(name) ?? cache.through(name, () => read(name))

  return { read, lookUp, cachedOrRead }
}

/** @param {Pick<Sources, 'store' | 'findSpace'> & {savedNotice: SavedNotice, cachingOf: CachingOf}} parts */
function createAnswer ({ store, savedNotice, cachingOf, findSpace = async () => null }) {
  /**
   * Only here a private space is looked for: it has no public page.
   * @param {string} name @param {View | null} view @param {FastifyRequest} request @param {FastifyReply} reply
   */
  async function answerMissing (name, view, request, reply) {
    if (await findSpace(name) !== null) return sendWithin(request, reply, viewUrl(name))
    const page = view && view.page
    // Not 301 (permanent): someone may create a page under the old name.
    if (page?.redirect_to) {
      withHeaders(reply, cachingOf(page)).header('page-revision', page.revision)
      return reply.redirect(viewUrl(page.redirect_to), 302)
    }
    if (!wantsHtml(request)) throw new PageMissing(name)
    return sendMissing(request, reply, { store, name, hasHistory: page !== null })
  }

  /**
   * @param {string} name
   * @param {number | null} saved  the revision just saved; null for other views
   * @param {View | null} view @param {FastifyRequest} request @param {FastifyReply} reply
   * @returns {unknown} for Fastify
   */
  return function answer (name, saved, view, request, reply) {
    if (view === null || !view.isThere) return answerMissing(name, view, request, reply)
    const { page } = view
    // The URL may have the number of a future edit, and must not keep the text before it.
    if (saved !== null) {
      reply.type(HTML).headers({ 'page-revision': page.revision, 'cache-control': 'private, no-store' })
      if (saved > page.revision) return view.documentFor(readerOf(request))
      return savedNotice(name, saved, revisionIn(request.query, 'merged')).then((notice) =>
        view.documentFor(readerOf(request), notice))
    }
    withHeaders(reply, view.head)
    if (view.isCurrentFor(request.headers)) return reply.code(304).send()
    const reader = readerOf(request)
    return reader.person === null ? view.document : view.documentFor(reader)
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
 * `saved`: not stored, so the author sees the new text through every door. `merged`: the revision that is merged in.
 * @param {unknown} query @param {'saved' | 'merged'} key
 * @returns {number | null} null for anything but a positive integer
 */
function revisionIn (query, key) {
  const { [key]: given } = /** @type {Record<string, unknown>} */ (query)
  return typeof given === 'string' && /^[1-9]\d{0,14}$/.test(given) ? Number(given) : null
}
