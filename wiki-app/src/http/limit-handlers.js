import fp from 'fastify-plugin'

/** @import {Database} from '../database/database.js' */
/** @import {ConcurrencyLimits, CostlyClass} from './concurrency-limits.js' */

/** @import {RouteHandlerMethod} from 'fastify' */

/**
 * @typedef {(request: import('fastify').FastifyRequest) => boolean} WithoutDatabase
 * @typedef {{database?: boolean, waitsItself?: boolean, costly?: CostlyClass, counted?: boolean,
 *   withoutDatabase?: WithoutDatabase}} Config
 */

/**
 * A slot first: a queued request has not started. `config: { database: false }` skips both; `withoutDatabase` says
 * which requests of a route need a slot alone. What is not `counted`, a check of health, is no page view.
 */
export const limitHandlers = fp(
  /** @type {import('fastify').FastifyPluginAsync<{limits: ConcurrencyLimits, database: Database}>} */
  async function limitHandlers (app, { limits, database }) {
    app.addHook('onRoute', (route) => {
      const { database: needed = true, waitsItself = false, costly, counted = true, withoutDatabase } =
        /** @type {Config} */ (route.config ?? {})
      if (!needed) return
      const { handler: itself } = route
      const guarded = /** @type {RouteHandlerMethod} */ (database.whileAvailable(itself))
      const handler = withoutDatabase === undefined ? guarded : eitherOf(withoutDatabase, itself, guarded)
      // A handler that reads its body as it arrives could hold a slot for ever.
      route.handler = waitsItself ? handler : limits.limited(handler, { costly, isView: counted })
    })
  }
)

/**
 * @param {WithoutDatabase} isOne @param {RouteHandlerMethod} one @param {RouteHandlerMethod} other
 * @returns {RouteHandlerMethod}
 */
function eitherOf (isOne, one, other) {
  return function (request, reply) {
    return (isOne(request) ? one : other).call(this, request, reply)
  }
}
