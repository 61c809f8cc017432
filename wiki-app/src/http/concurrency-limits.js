import createError from '@fastify/error'
import { createRequestQueue } from './request-queue.js'
import { retryAfter } from './retry-after.js'

/** Views take some milliseconds. */
const READS = { first: 64, workMs: 100, workMaxMs: 1_000 }
/**
 * A save also waits for the disk of the database and for a thread that renders. More saves at once do not end sooner,
 * and their transactions take so long that the database gives them up.
 */
const WRITES = { first: 32, workMs: 500, workMaxMs: 5_000 }
/**
 * Whole texts and searches: ten texts of 1 MiB that arrive together hold the main thread until all are sent, and ten
 * searches the database (`make bench-dearest`). As few are at work, these wait longer than others.
 */
const COSTLY = { first: 2, atWork: { min: 2, max: 2 }, workMs: 100, workMaxMs: 5_000 }
const COSTLY_WAIT_FACTOR = 10
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

const Busy = createError('WIKI_BUSY', 'More is asked of the wiki than it can answer just now. Nothing was done; try again in a moment.', 503)

/**
 * Limits how many handlers work at once to what ends within a short time. The rest wait in three
 * lines: reads, reads that cost far more than a page, and writes. So no burst of edits keeps readers out. See docs/decisions/0016.
 * @param {object} options
 * @param {number} options.waitMaxMs  0: there is no line, all work at once
 * @param {number} [options.workMaxMs]  after which work keeps no other from beginning, for all methods
 */
export function createConcurrencyLimits ({ waitMaxMs, workMaxMs }) {
  const busy = retryAfter(new Busy())
  const own = { waitMaxMs, refusal: () => busy, ...(workMaxMs !== undefined && { workMaxMs }) }
  const reads = createRequestQueue({ ...READS, ...own })
  const writes = createRequestQueue({ ...WRITES, ...own })
  const costly = createRequestQueue({ ...COSTLY, ...own, waitMaxMs: COSTLY_WAIT_FACTOR * waitMaxMs })

  return {
    /**
     * Begins a read that would not have to wait for its turn.
     * @template T
     * @param {() => Promise<T>} read
     * @returns {Promise<T> | undefined} undefined: it would
     */
    runNow: (read) => waitMaxMs === 0 ? read() : reads.runNow(read),

    /**
     * The same handler, which waits for its turn. A request whose connection has ended meanwhile is dropped.
     * @param {import('fastify').RouteHandlerMethod} handler
     * @param {{isCostly?: boolean}} [options]  a read that costs far more than a page
     * @returns {import('fastify').RouteHandlerMethod}
     * @throws {Error} 503 when that did not come in time
     */
    limited (handler, { isCostly = false } = {}) {
      if (waitMaxMs === 0) return handler
      const readsOf = isCostly ? costly : reads
      return function (request, reply) {
        const queue = SAFE.has(request.method) ? readsOf : writes
        // Not `request.raw.destroyed`, which is true once a body has been read.
        return queue.run(() => handler.call(this, request, reply), () => request.raw.socket.destroyed)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createConcurrencyLimits>} ConcurrencyLimits */
