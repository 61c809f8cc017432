import fp from 'fastify-plugin'

/**
 * Wraps each route's handler: it waits for a slot and then checks that the database is available. The check comes
 * second because a queued request has not started. Routes with `config: { database: false }` skip both.
 */
export const limitHandlers = fp(
  /**
   * @type {import('fastify').FastifyPluginAsync<{
   *   limits: import('./concurrency-limits.js').ConcurrencyLimits,
   *   database: import('../database/database.js').Database
   * }>}
   */
  async function limitHandlers (app, { limits, database }) {
    app.addHook('onRoute', (route) => {
      const { database: needed = true, waitsItself = false, isCostly = false } =
        /** @type {{database?: boolean, waitsItself?: boolean, isCostly?: boolean}} */ (route.config ?? {})
      if (!needed) return
      const handler = /** @type {import('fastify').RouteHandlerMethod} */ (database.whileAvailable(route.handler))
      // A handler that reads its body as it arrives would hold a slot for as long as the client likes.
      route.handler = waitsItself ? handler : limits.limited(handler, { isCostly })
    })
  }
)
