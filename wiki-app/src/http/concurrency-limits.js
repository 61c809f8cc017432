import createError from '@fastify/error'
import { createRequestQueue } from './request-queue.js'
import { retryAfter } from './retry-after.js'

/** @import {RouteHandlerMethod} from 'fastify' */

/** A view takes a few milliseconds. */
const READS = { first: 64, workMs: 100, workMaxMs: 1_000 }
/**
 * A save also waits for the disk and for a rendering thread. More saves at once do not finish sooner, and their
 * transactions then take so long that the database aborts them.
 */
const WRITES = { first: 32, workMs: 500, workMaxMs: 5_000 }
/**
 * Ten texts of 1 MiB at once block the main thread until all are sent, and ten searches block the database (`make
 * bench-dearest`). Few run at once, so these requests may wait longer than others.
 */
const COSTLY = { first: 2, running: { min: 2, max: 2 }, workMs: 100, workMaxMs: 5_000 }
const COSTLY_WAIT_FACTOR = 10
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

const Busy = createError(
  'WIKI_BUSY',
  'More is asked of the wiki than it can answer just now. Nothing was done; try again in a moment.',
  503
)

/**
 * Limits how many handlers run at once to what finishes within a short time. The others wait in three queues (reads,
 * costly reads, writes), so a burst of edits does not block readers. See docs/decisions/0016.
 * @param {{waitMaxMs: number, workMaxMs?: number}} options  `waitMaxMs` 0: no queues and no limits; `workMaxMs`: after
 *   this time a running handler frees its slot
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
     * Makes a handler wait for a slot. A request whose connection closes meanwhile is dropped.
     * @param {RouteHandlerMethod} handler @param {{isCostly?: boolean}} [options] @returns {RouteHandlerMethod}
     * @throws {Error} 503 when no slot is free in time
     */
    limited (handler, { isCostly = false } = {}) {
      if (waitMaxMs === 0) return handler
      const readsOf = isCostly ? costly : reads
      return function (request, reply) {
        const queue = SAFE.has(request.method) ? readsOf : writes
        // `request.raw.destroyed` does not work here: it is true once a body has been read.
        return queue.run(() => handler.call(this, request, reply), () => request.raw.socket.destroyed)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createConcurrencyLimits>} ConcurrencyLimits */
