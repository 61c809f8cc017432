/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/** Scheme and host of a request target, which the router accepts too (RFC 9112 §3.2.2). */
const AUTHORITY = /^https?:\/\/.*?\//

/**
 * Redirects a request with unknown query parameters to the URL without them: caches would store `/revision/a/1?r=2`
 * beside `/revision/a/1`, and no purge would name it. A route's schema lists the known parameters.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {() => void} done
 */
export function redirectUnknownQuery ({ method, url: target, routeOptions }, reply, done) {
  // Removed first: the authority may contain a question mark.
  const url = target.replace(AUTHORITY, '/')
  const start = url.indexOf('?')
  if (start === -1 || (method !== 'GET' && method !== 'HEAD')) return done()
  const query = url.slice(start + 1)
  const { properties = {} } = /** @type {{properties?: object}} */ (routeOptions.schema?.querystring ?? {})
  const known = Object.keys(properties)
  const knownQuery = query.split('&').filter((pair) => known.includes(keyOf(pair))).join('&')
  if (knownQuery === query && query !== '') return done()
  // The router has matched this path, so the redirect cannot name another host.
  const path = url.slice(0, start)
  // Not stored: the number of such URLs is unlimited, and they would fill a cache.
  reply.header('cache-control', 'no-store').redirect(knownQuery === '' ? path : `${path}?${knownQuery}`, 301)
}

/** @param {string} pair  of a query: `key=value` or `key` */
function keyOf (pair) {
  const key = pair.split('=', 1)[0].replaceAll('+', ' ')
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
