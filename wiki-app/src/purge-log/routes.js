import { PURGE_LOG_URL } from '../caching/cache-policy.js'
import { realClock } from '../process/clock.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {Clock} from '../process/clock.js' */
/** @import {PurgeLogWatch} from './watch.js' */

const SCHEMA = {
  querystring: {
    type: 'object',
    properties: {
      after: { type: 'string', pattern: '^[0-9a-f]{16}$' }
    }
  }
}

/**
 * Answers a cache that follows the purge log: what edits made stale after a position, or that nothing did. It comes
 * with the next entry, or after two fifths of the bound. `certified_ms`: when all that the answer covers was complete,
 * in milliseconds after the call (negative: before it); a cache that has sent its request at s has, until s +
 * certified_ms + bound_ms, nothing that is older than the bound allows.
 * @param {{watch: Pick<PurgeLogWatch, 'after'>, boundMs: number, clock?: Pick<Clock, 'now'>}} parts
 */
export function createLogAnswer ({ watch, boundMs, clock = realClock }) {
  const options = { waitMs: 0.4 * boundMs, ageMaxMs: boundMs / 10 }
  /** @param {string} [after]  undefined: the cache knows nothing */
  return async (after) => {
    const cameMs = clock.now()
    const { position, ageMs, tags } = await watch.after(after, options)
    const certifiedMs = Math.floor(clock.now() - cameMs - ageMs)
    const what = tags === null ? { everything: /** @type {const} */ (true) } : { tags }
    return { position, certified_ms: certifiedMs, bound_ms: boundMs, ...what }
  }
}

/**
 * What caches that follow the purge log ask, again and again.
 * @type {FastifyPluginAsync<{purgeLogWatch?: Pick<PurgeLogWatch, 'after'>, policy: CachePolicy}>}  purgeLogWatch: where
 *   the policy has a bound
 */
export async function purgeLogRoutes (app, { purgeLogWatch: watch, policy: { boundMs } }) {
  if (watch === undefined || boundMs === undefined) return
  const answer = createLogAnswer({ watch, boundMs })
  // It waits, and takes no other request's turn.
  const config = { counted: false, waitsItself: true }
  app.get(PURGE_LOG_URL, { config, schema: SCHEMA }, async (request, reply) => {
    const { after } = /** @type {{after?: string}} */ (request.query)
    const answered = await answer(after)
    reply.header('cache-control', 'private, no-store')
    return answered
  })
}
