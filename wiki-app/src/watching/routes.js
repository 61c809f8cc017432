import { feedRoute } from './feed-route.js'
import { watchRoutes } from './watch-routes.js'
import { watchingRoutes as listRoutes } from './watching-routes.js'

/** @import {History} from '../history/history.js' */
/** @import {Watching} from './watching.js' */

/**
 * For signed-in people, and for their programs that read feeds.
 * @type {import('fastify').FastifyPluginAsync<{watching: Watching, history: History, publicUrl?: string}>}
 */
export async function watchingRoutes (app, { watching, history, publicUrl }) {
  await app.register(feedRoute, { watching, history, publicUrl })
  await app.register(async (personal) => {
    personal.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'private, no-store')
      done()
    })
    await personal.register(listRoutes, { watching, publicUrl })
    await personal.register(watchRoutes, { watching })
  })
}
