import fp from 'fastify-plugin'
import { canonicalName } from '../pages/name.js'
import { pageAsked } from '../reading/address.js'
import { withinUrl } from './addresses.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {FindSpace} from './find-space.js' */

/** They read pages by name. A view itself asks only where there is no page, see reading/view-route.js. */
const READING = new Set(['/history/*', '/revision/*', '/raw/*', '/difference/*', '/links/*', '/tree/*'])

/**
 * Whether a page is there or not, strangers and members alike are sent to the address where members read. No cache
 * keeps that: the space may go.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {string} [path]
 */
export const sendWithin = (request, reply, path) =>
  reply.header('cache-control', 'no-store').redirect(withinUrl(request, path), 303)

/** Before the routes that it is about. */
export const spaceRedirects = fp(
  /** @type {FastifyPluginAsync<{find: FindSpace['find']}>} */
  async function spaceRedirects (app, { find }) {
    app.addHook('onRoute', (route) => {
      if (!READING.has(route.url)) return
      route.onRequest = [...[route.onRequest ?? []].flat(), async (request, reply) => {
        const name = nameOf(request)
        if (name !== null && await find(name) !== null) return sendWithin(request, reply)
      }]
    })
  }
)

/** @param {FastifyRequest} request @returns {string | null} null: it can be none, and the handler says so */
function nameOf (request) {
  try {
    return canonicalName(String(pageAsked(request)))
  } catch {
    return null
  }
}
