import { digestRoutes } from '../digest/digest-routes.js'
import { linkRoutes } from '../digest/link-routes.js'
import { feedRoute } from './feed-route.js'
import { watchRoutes } from './watch-routes.js'
import { watchingRoutes as listRoutes } from './watching-routes.js'

/** @import {OwnAddresses} from '../password-mail/own-addresses.js' */
/** @import {Subscriptions} from '../digest/subscriptions.js' */
/** @import {History} from '../history/history.js' */
/** @import {Watching} from './watching.js' */

/**
 * For signed-in people, for their programs that read feeds, and for the links in their mails.
 * @typedef {{watching: Watching, history: History, publicUrl?: string, subscriptions?: Subscriptions,
 *   ownAddresses?: OwnAddresses}} Options  the last two: where the wiki sends mail
 * @type {import('fastify').FastifyPluginAsync<Options>}
 */
export async function watchingRoutes (app, { watching, history, publicUrl, subscriptions, ownAddresses }) {
  await app.register(feedRoute, { watching, history, publicUrl })
  if (subscriptions && ownAddresses) await app.register(linkRoutes, { subscriptions, ownAddresses })
  await app.register(async (personal) => {
    personal.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'private, no-store')
      done()
    })
    await personal.register(listRoutes, { watching, publicUrl, subscriptions })
    await personal.register(watchRoutes, { watching })
    if (subscriptions) await personal.register(digestRoutes, { subscriptions })
  })
}
