import { PURGE_LOG_URL } from '../caching/cache-policy.js'
import { realClock } from '../process/clock.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {Metrics} from '../observe/metrics.js' */
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
 * @typedef {Pick<PurgeLogWatch, 'after' | 'entryCount'>} Watch  where the policy has a bound
 * @type {FastifyPluginAsync<{purgeLogWatch?: Watch, policy: CachePolicy, metrics?: Pick<Metrics, 'addPurgeLog'>}>}
 */
export async function purgeLogRoutes (app, { purgeLogWatch: watch, policy: { boundMs }, metrics }) {
  if (watch === undefined || boundMs === undefined) return
  const answer = createLogAnswer({ watch, boundMs })
  const traffic = { requests: 0, bytes: 0 }
  metrics?.addPurgeLog(() => ({ ...traffic, entries: watch.entryCount() }))
  // It waits, and takes no other request's turn.
  const config = { counted: false, waitsItself: true }
  app.get(PURGE_LOG_URL, { config, schema: SCHEMA }, async (request, reply) => {
    traffic.requests++
    const { after } = /** @type {{after?: string}} */ (request.query)
    const text = JSON.stringify(await answer(after))
    traffic.bytes += Buffer.byteLength(text)
    return reply.header('cache-control', 'private, no-store').type('application/json; charset=utf-8').send(text)
  })
}
