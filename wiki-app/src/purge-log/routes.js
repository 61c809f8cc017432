import { PURGE_LOG_URL } from '../caching/cache-policy.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
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
 * What caches that follow the purge log ask, again and again: what edits made stale after a position, or that nothing
 * did. The answer comes with the next entry, or after two fifths of the bound. `certified_ms`: when all that the answer
 * covers was complete, in milliseconds after the request came (negative: before it); a cache that has sent its request
 * at s has, until s + certified_ms + bound_ms, nothing that is older than the bound allows.
 * @type {FastifyPluginAsync<{purgeLogWatch?: Pick<PurgeLogWatch, 'after'>, policy: CachePolicy}>}  purgeLogWatch: where
 *   the policy has a bound
 */
export async function purgeLogRoutes (app, { purgeLogWatch, policy: { boundMs } }) {
  if (purgeLogWatch === undefined || boundMs === undefined) return
  const options = { waitMs: 0.4 * boundMs, ageMaxMs: boundMs / 10 }
  // It waits, and takes no other request's turn.
  const config = { counted: false, waitsItself: true }
  app.get(PURGE_LOG_URL, { config, schema: SCHEMA }, async (request, reply) => {
    const cameMs = performance.now()
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { position, ageMs, tags } = await purgeLogWatch.after(after, options)
    const certifiedMs = Math.floor(performance.now() - cameMs - ageMs)
    reply.header('cache-control', 'private, no-store')
    return {
      position, certified_ms: certifiedMs, bound_ms: boundMs, ...tags === null ? { everything: true } : { tags }
    }
  })
}
