import createError from '@fastify/error'
import { createRequestQueue } from './request-queue.js'
import { retryAfter } from './retry-after.js'
import { createTurns } from './waiting.js'

/** @import {FastifyRequest, RouteHandlerMethod} from 'fastify' */
/** @import {Queued} from './request-queue.js' */
/** @import {WaitingLine} from './waiting.js' */

const READS = { first: 64, workMs: 100, workMaxMs: 1_000 }
/** More saves at once do not finish sooner, and the database aborts such long transactions. */
const WRITES = { first: 32, workMs: 500, workMaxMs: 5_000 }
/**
 * What costs more than a page: lists, old texts and their differences, searches, whole texts and exports, which wait
 * for a turn to begin alone. Ten texts of 1 MiB block the main thread, ten searches the database (`make
 * bench-dearest`).
 * @typedef {'list' | 'history' | 'difference' | 'search' | 'text' | 'export'} CostlyClass
 */

/** Of all costly classes together. */
const COSTLY = { first: 2, running: { min: 2, max: 2 }, workMs: 100, workMaxMs: 5_000 }
/** Up to twice as long, at random: what a sweep brings at once is not refused at once, which would delay people. */
const COSTLY_WAIT_FACTOR = 10
/** Of all processes. nginx lets fewer old texts through, and of other costly reads as many (`requestsAtOnceMax`). */
const COSTLY_WAITING_MAX = 64
const COSTLY_WAITING_MIN = 8
/** Behind a cache most page views do not come here, so the next one may come seconds later. */
const PEOPLE_MS = 10_000
/** While people read or write, a slot of costly reads rests for so many times as long as it has worked. */
const REST_FACTOR = 3
/** While so many wait as crawlers send and people do not, there is one slot. */
const SWEEP_WAITING = 8
/** A class in which several wait then rests after each costly read, for so many times as long as that took. */
const SWEEP_REST_FACTOR = 79
/** A read that waits alone in its class may be a person's, and gets the next free slot. */
const SEVERAL = 2
/** Work that waits for the processor takes longer, and so does the rest; it may have waited for something else. */
const REST_MAX_MS = 10_000
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

const Busy = createError(
  'WIKI_BUSY',
  'The wiki has more to do than it can do just now. Nothing was changed; try again in a moment.',
  503
)

/**
 * Three queues (page views, costly reads, writes), so that edits do not block readers (docs/decisions/0016). In that of
 * costly reads the classes take turns, so that each has its share, and in a class the networks of clients do
 * (docs/decisions/0078).
 * @param {{waitMaxMs: number, workMaxMs?: number, processes?: number, networkOf?: (request: FastifyRequest) => string}}
 *   options  `waitMaxMs` 0: no limits
 */
export function createConcurrencyLimits ({ waitMaxMs, workMaxMs, processes = 1, networkOf = () => '' }) {
  let peopleAt = -Infinity
  const notePeople = () => { peopleAt = performance.now() }
  const arePeople = () => performance.now() - peopleAt < PEOPLE_MS
  const busy = retryAfter(new Busy())
  const own = { waitMaxMs, refusal: () => busy, ...(workMaxMs !== undefined && { workMaxMs }) }
  const reads = createRequestQueue({ ...READS, ...own })
  const writes = createRequestQueue({ ...WRITES, ...own })
  const waitingMax = Math.max(COSTLY_WAITING_MIN, Math.floor(COSTLY_WAITING_MAX / processes))
  let sweptRestEndsAt = -Infinity
  /** @type {WaitingLine<Queued>} */
  const waiting = createTurns(waitingMax, {
    mayBegin: (count) => count < SEVERAL || !isSwept() || performance.now() >= sweptRestEndsAt
  })
  const isSwept = () => arePeople() && waiting.length >= SWEEP_WAITING / processes
  const slotsMax = () => isSwept() ? 1 : Infinity
  const restMs = (/** @type {number} */ ms) => {
    const endsAt = performance.now() + Math.min(SWEEP_REST_FACTOR * ms, REST_MAX_MS)
    sweptRestEndsAt = Math.max(sweptRestEndsAt, endsAt)
    return arePeople() ? Math.min(REST_FACTOR * ms, REST_MAX_MS) : 0
  }
  const costly = createRequestQueue({
    ...{ ...COSTLY, ...own, waiting, restMs, slotsMax },
    ...{ waitMaxMs: COSTLY_WAIT_FACTOR * waitMaxMs, waitMoreMs: COSTLY_WAIT_FACTOR * waitMaxMs }
  })

  return {
    /** @template T @param {() => Promise<T>} read @returns {Promise<T> | undefined} undefined: no slot is free */
    runNow (read) {
      notePeople()
      return waitMaxMs === 0 ? read() : reads.runNow(read)
    },

    /**
     * Drops queued requests whose connection closes.
     * @param {RouteHandlerMethod} handler
     * @param {{costly?: CostlyClass, isView?: boolean}} [options]  of reads; `isView`: costly reads rest beside it
     * @returns {RouteHandlerMethod}
     * @throws {Error} 503 when no slot is free in time
     */
    limited (handler, { costly: name, isView = true } = {}) {
      if (waitMaxMs === 0) return handler
      return function (request, reply) {
        const work = () => handler.call(this, request, reply)
        // `request.raw.destroyed` is already true once a body has been read.
        const isGone = () => request.raw.socket.destroyed
        if (!SAFE.has(request.method)) {
          notePeople()
          return writes.run(work, isGone)
        }
        if (name !== undefined) return costly.run(work, isGone, { class: name, network: networkOf(request) })
        if (isView) notePeople()
        return reads.run(work, isGone)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createConcurrencyLimits>} ConcurrencyLimits */
