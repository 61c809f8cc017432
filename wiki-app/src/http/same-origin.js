import createError from '@fastify/error'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

const CrossSite = createError(
  'WIKI_CROSS_SITE',
  'This request comes from another site; changes are only taken from the wiki’s own pages or from programs.',
  403
)

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** RFC 9110 §9.2.1 @param {string} method */
export const isUnsafe = (method) => !SAFE_METHODS.has(method)

/**
 * Older browsers, and all over plain http, send only Origin (RFC 6454 §7), not Sec-Fetch-Site (W3C Fetch Metadata).
 * Programs send neither and pass: no browser adds credentials to their requests.
 * @param {FastifyRequest} request @param {FastifyReply} _reply @param {(error?: Error) => void} done
 */
export function refuseCrossSite ({ method, headers }, _reply, done) {
  if (!isUnsafe(method) || isOwn(headers)) done()
  else done(new CrossSite())
}

/** @param {import('node:http').IncomingHttpHeaders} headers */
function isOwn ({ 'sec-fetch-site': site, origin, host }) {
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase())
}
