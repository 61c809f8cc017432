/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/** Scheme and host of a request target (RFC 9112 §3.2.2). */
const AUTHORITY = /^https?:\/\/.*?\//

/**
 * Otherwise caches store `/revision/a/1?r=2`, which no purge names.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {() => void} done
 */
export function redirectUnknownQuery ({ method, url: target, routeOptions }, reply, done) {
  // First: the authority may contain a question mark.
  const url = target.replace(AUTHORITY, '/')
  const start = url.indexOf('?')
  if (start === -1 || (method !== 'GET' && method !== 'HEAD')) return done()
  const query = url.slice(start + 1)
  const { properties = {} } = /** @type {{properties?: object}} */ (routeOptions.schema?.querystring ?? {})
  const known = Object.keys(properties)
  const knownQuery = query.split('&').filter((pair) => known.includes(keyOf(pair))).join('&')
  if (knownQuery === query && query !== '') return done()
  // Matched by the router, so it cannot name another host.
  const path = url.slice(0, start)
  // Not stored: unlimited in number, these URLs would fill a cache.
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
