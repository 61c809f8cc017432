import fp from 'fastify-plugin'

/**
 * Has the handler of each route wait for its turn, and then refuses it while the database is away: a request that
 * waits has not begun. Routes with `config: { database: false }` do neither.
 */
export const limitHandlers = fp(
  /** @type {import('fastify').FastifyPluginAsync<{limits: import('./concurrency-limits.js').ConcurrencyLimits, database: import('../database/database.js').Database}>} */
  async function limitHandlers (app, { limits, database }) {
    app.addHook('onRoute', (route) => {
      const { database: needed = true, waitsItself = false, isCostly = false } =
        /** @type {{database?: boolean, waitsItself?: boolean, isCostly?: boolean}} */ (route.config ?? {})
      if (!needed) return
      const handler = /** @type {import('fastify').RouteHandlerMethod} */ (database.whileAvailable(route.handler))
      // A handler that reads a body as it arrives would count as in flight for as long as its client likes.
      route.handler = waitsItself ? handler : limits.limited(handler, { isCostly })
    })
  }
)
