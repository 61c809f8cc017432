import { PURGE_LOG_URL } from '../caching/cache-policy.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {Stale} from '../caching/invalidation.js' */
/** @import {PurgeLogWatch} from './watch.js' */

/** More tags than this are answered by everything. */
const TAGS_MAX = 5_000

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
 * did. The answer comes with the next entry, or after a fifth of the bound. `certified_ms`: when all that the answer
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
    const { position, atMs, stales } = await purgeLogWatch.after(after, options)
    reply.header('cache-control', 'private, no-store')
    return { position, certified_ms: Math.floor(atMs - cameMs), bound_ms: boundMs, ...purgeOf(stales) }
  })
}

/** @param {Stale[] | null} stales @returns {{everything: true} | {tags: string[]}} */
function purgeOf (stales) {
  if (stales === null || stales.some(({ everything }) => everything)) return { everything: true }
  const tags = [...new Set(stales.flatMap((stale) => stale.everything ? [] : stale.tags))]
  return tags.length > TAGS_MAX ? { everything: true } : { tags }
}
