/** As the router takes a target with scheme and host (RFC 9112 §3.2.2). */
const AUTHORITY = /^https?:\/\/.*?\//

/**
 * Hook of plugins that read: sends a request with parameters that its route does not know to the address without them.
 * Caches would store `/revision/a/1?r=2` beside `/revision/a/1`, and no purge would name it.
 * A route knows what its schema describes.
 * @param {import('fastify').FastifyRequest} request
 * @param {import('fastify').FastifyReply} reply
 * @param {() => void} done
 */
export function leaveUnknownQuery ({ method, url: target, routeOptions }, reply, done) {
  // First of all: the authority may have a question mark in it.
  const url = target.replace(AUTHORITY, '/')
  const start = url.indexOf('?')
  if (start === -1 || (method !== 'GET' && method !== 'HEAD')) return done()
  const asked = url.slice(start + 1)
  const { properties = {} } = /** @type {{properties?: object}} */ (routeOptions.schema?.querystring ?? {})
  const known = Object.keys(properties)
  const kept = asked.split('&').filter((pair) => known.includes(keyOf(pair))).join('&')
  if (kept === asked && asked !== '') return done()
  // The router has found this path to be one of ours, so it cannot name another host.
  const path = url.slice(0, start)
  // Not stored: there is no end of such addresses, and they would fill a cache.
  reply.header('cache-control', 'no-store').redirect(kept === '' ? path : `${path}?${kept}`, 301)
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
