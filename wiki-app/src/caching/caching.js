import { createPurgeLog } from '../purge-log/entries.js'
import { timestampOf } from '../purge-log/position.js'
import { createPurgeLogWatch } from '../purge-log/watch.js'
import { cachePolicy } from './cache-policy.js'
import { tagsFor, tagsForCounts, urlsFor, urlsForCounts } from './invalidation.js'
import { createPurgeQueue } from './purge-queue.js'
import { createPurgeQueues } from './purge-queues.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Connection} from 'mongoose' */
/** @import {Config} from '../settings.js' */
/** @import {Tracing} from '../tracing/tracing.js' */
/** @import {CachePolicy} from './cache-policy.js' */
/** @import {Purge} from './purge-batch.js' */
/** @import {Timing} from './purge-queue.js' */

/**
 * How caches store pages, and how they learn of edits: by purges that the wiki sends, or by its purge log.
 * @param {Config} config @param {FastifyBaseLogger} log
 * @param {{purge?: Purge | Record<string, Purge>, timing?: Partial<Timing>, connection: Connection, tracing?: Tracing}}
 *   parts
 */
export function createCaching (config, log, { purge, timing, connection, tracing }) {
  const policy = cachePolicy(config.CACHE_POLICY, {
    ttlS: config.CACHE_TTL_S,
    staleWhileRevalidateS: config.CACHE_STALE_WHILE_REVALIDATE_S,
    staleIfErrorS: config.CACHE_STALE_IF_ERROR_S,
    cdnTtlS: config.CACHE_CDN_TTL_S,
    boundMs: config.CACHE_BOUND_MS,
    beyondBoundS: config.CACHE_BEYOND_BOUND_S
  })
  const purges = purge && purgesOf(config, { policy, purge, timing, connection, log, tracing })
  const isLogged = policy.boundMs !== undefined
  const watch = isLogged ? createPurgeLogWatch({ connection, log }) : undefined
  return {
    policy,
    purges,
    /** Caches that follow the log confirm nothing. */
    waitUntilPurged: isLogged ? undefined : purges?.waitUntilPurged,
    purgeLog: isLogged ? createPurgeLog(connection) : undefined,
    purgeLogWatch: watch,
    /** What a page's read has to cover. */
    readAfter: watch && (() => {
      const reached = watch.reached()
      return reached === undefined ? undefined : timestampOf(reached)
    })
  }
}

/**
 * @param {Config} config
 * @param {{policy: CachePolicy, purge: Purge | Record<string, Purge>, timing?: Partial<Timing>, connection: Connection,
 *   log: FastifyBaseLogger, tracing?: Tracing}} parts
 */
function purgesOf (config, { policy, purge, timing, connection, log, tracing }) {
  /** @type {Omit<Parameters<typeof createPurgeQueue>[0], 'purge'>} */
  const parts = {
    connection,
    ...policy.purgedBy === 'tags'
      ? { staleOf: tagsFor, staleByCounts: tagsForCounts }
      : {
          staleOf: (commit) => urlsFor(commit, config.HOME_PAGE),
          staleByCounts: (recounted) => urlsForCounts(recounted, config.HOME_PAGE)
        },
    log,
    during: tracing?.processing,
    timing: { repeatAfterMs: config.PURGE_REPEAT_AFTER_S * 1000, ...timing }
  }
  return typeof purge === 'function'
    ? createPurgeQueue({ ...parts, purge })
    : createPurgeQueues({ ...parts, purges: purge })
}
