import { shortLinkTag } from '../caching/invalidation.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'
import { revisionUrl, viewUrl } from '../pages/name.js'
import { isMisspelt } from '../reading/address.js'
import { ShortLinkMissing } from './errors.js'
import { idAt, shortLinkUrl } from './ids.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {FastPath, Ready} from '../http/fast-path.js' */
/** @import {Note} from '../observe/request-log.js' */
/** @import {ShortLinks, Target} from './store.js' */

export const SHORT_LINK_ROUTE = '/s/:id'
const BELOW = '/s/'

/** @param {Target} target @returns {string} a path of this wiki, never another host */
export const addressOf = ({ page, revision }) => revision === null ? viewUrl(page) : revisionUrl(page, revision)

/**
 * Without an ETag: a redirect has no conditional form (RFC 9110 §13.2.1).
 * @param {CachePolicy} policy
 */
function createHeadersOf ({ headers, purgedBy }) {
  /** @param {Target} target @returns {Record<string, string>} */
  return (target) => ({
    ...headers,
    ...purgedBy === 'tags' && { 'cache-tag': shortLinkTag(target.page) },
    location: addressOf(target)
  })
}

/**
 * 302, not 301: a renaming changes where it leads (docs/decisions/0043).
 * @typedef {{links: Pick<ShortLinks, 'find'>, policy: CachePolicy, fastPath: FastPath<any>, observe?: Note}} Parts
 * @typedef {{isAvailable: () => boolean, runNow: <T>(read: () => Promise<T>) => Promise<T> | undefined}} Limits
 * @type {FastifyPluginAsync<Parts & Limits>}
 */
export async function shortLinkRoute (app, { links, policy, fastPath, observe, isAvailable, runNow }) {
  const headersOf = createHeadersOf(policy)

  fastPath.use({
    find ({ method, url = '' }) {
      const id = method === 'GET' ? idAt(url) : undefined
      return id === undefined || !isAvailable() ? undefined : runNow(() => links.find(id))
    },
    ready: (/** @type {Target | null} */ target) => target === null ? undefined : readyOf(headersOf(target)),
    answered: observe && ((request, status, durationMs) => observe(request, SHORT_LINK_ROUTE, status, durationMs))
  }, BELOW)

  app.get(SHORT_LINK_ROUTE, { onRequest: redirectUnknownQuery }, async (request, reply) => {
    const { id } = /** @type {{id: string}} */ (request.params)
    /** @type {Target | null} */
    const target = await (fastPath.foundOf(request.raw) ?? links.find(id))
    if (target === null) throw new ShortLinkMissing()
    // No purge names another spelling.
    if (isMisspelt(request, shortLinkUrl(id))) {
      return reply.header('cache-control', 'no-store').redirect(shortLinkUrl(id), 301)
    }
    const { location, ...headers } = headersOf(target)
    return reply.headers(headers).redirect(location, 302)
  })
}

/** @param {Record<string, string>} headers @returns {Ready} */
const readyOf = (headers) =>
  ({ status: 302, head: Object.entries({ ...SECURITY_HEADERS, ...headers, 'content-length': '0' }).flat() })
