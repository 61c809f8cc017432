import { NO_COPY } from '../caching/cache-policy.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/**
 * An `onSend` hook for a wiki whose readers sign in: no cache keeps an answer, that of the browser neither, as "back"
 * would show it after signing out. Whatever a route said about it, for all caches or for some (RFC 9213), is replaced.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {unknown} _payload @param {() => void} done
 */
export function keepFromCaches ({ routeOptions }, reply, _payload, done) {
  const { forStrangers = false } = /** @type {{forStrangers?: boolean}} */ (routeOptions.config ?? {})
  if (!forStrangers) {
    for (const name of Object.keys(reply.getHeaders())) if (name.endsWith('-cache-control')) reply.removeHeader(name)
    reply.header('cache-control', NO_COPY)
    // Pages of a neighbouring host send the cookie along: they are same-site.
    reply.header('cross-origin-resource-policy', 'same-origin')
  }
  done()
}
