import fp from 'fastify-plugin'

/** @import {Database} from '../database/database.js' */
/** @import {ConcurrencyLimits} from './concurrency-limits.js' */

/** A slot first: a queued request has not started. `config: { database: false }` skips both. */
export const limitHandlers = fp(
  /** @type {import('fastify').FastifyPluginAsync<{limits: ConcurrencyLimits, database: Database}>} */
  async function limitHandlers (app, { limits, database }) {
    app.addHook('onRoute', (route) => {
      const { database: needed = true, waitsItself = false, isCostly = false } =
        /** @type {{database?: boolean, waitsItself?: boolean, isCostly?: boolean}} */ (route.config ?? {})
      if (!needed) return
      const handler = /** @type {import('fastify').RouteHandlerMethod} */ (database.whileAvailable(route.handler))
      // A handler that reads its body as it arrives could hold a slot for ever.
      route.handler = waitsItself ? handler : limits.limited(handler, { isCostly })
    })
  }
)
