import createError from '@fastify/error'
import { createRequestQueue } from './request-queue.js'
import { retryAfter } from './retry-after.js'

/** @import {RouteHandlerMethod} from 'fastify' */

const READS = { first: 64, workMs: 100, workMaxMs: 1_000 }
/** More saves at once do not finish sooner, and the database aborts such long transactions. */
const WRITES = { first: 32, workMs: 500, workMaxMs: 5_000 }
/** Ten texts of 1 MiB block the main thread, ten searches the database (`make bench-dearest`). */
const COSTLY = { first: 2, running: { min: 2, max: 2 }, workMs: 100, workMaxMs: 5_000 }
const COSTLY_WAIT_FACTOR = 10
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

const Busy = createError(
  'WIKI_BUSY',
  'The wiki has more to do than it can do just now. Nothing was changed; try again in a moment.',
  503
)

/**
 * Three queues (reads, costly reads, writes), so that edits do not block readers (docs/decisions/0016).
 * @param {{waitMaxMs: number, workMaxMs?: number}} options  `waitMaxMs` 0: no limits
 */
export function createConcurrencyLimits ({ waitMaxMs, workMaxMs }) {
  const busy = retryAfter(new Busy())
  const own = { waitMaxMs, refusal: () => busy, ...(workMaxMs !== undefined && { workMaxMs }) }
  const reads = createRequestQueue({ ...READS, ...own })
  const writes = createRequestQueue({ ...WRITES, ...own })
  const costly = createRequestQueue({ ...COSTLY, ...own, waitMaxMs: COSTLY_WAIT_FACTOR * waitMaxMs })

  return {
    /** @template T @param {() => Promise<T>} read @returns {Promise<T> | undefined} undefined: no slot is free */
    runNow: (read) => waitMaxMs === 0 ? read() : reads.runNow(read),

    /**
     * Drops queued requests whose connection closes.
     * @param {RouteHandlerMethod} handler @param {{isCostly?: boolean}} [options] @returns {RouteHandlerMethod}
     * @throws {Error} 503 when no slot is free in time
     */
    limited (handler, { isCostly = false } = {}) {
      if (waitMaxMs === 0) return handler
      const readsOf = isCostly ? costly : reads
      return function (request, reply) {
        const queue = SAFE.has(request.method) ? readsOf : writes
        // `request.raw.destroyed` is already true once a body has been read.
        return queue.run(() => handler.call(this, request, reply), () => request.raw.socket.destroyed)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createConcurrencyLimits>} ConcurrencyLimits */
