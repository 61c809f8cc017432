import { setTimeout as sleep } from 'node:timers/promises'
import { realClock } from '../process/clock.js'
import { createWaker } from '../queue/waker.js'
import { createBatchPurger } from './purge-batch.js'
import { createPurgeEntries, purgeTasks } from './purge-entries.js'

/** @import {Connection} from 'mongoose' */
/** @import {Clock} from '../process/clock.js' */
/** @import {Commit, Recounted} from '../pages/commit.js' */
/** @import {During} from '../queue/worker.js' */
/** @import {Stale} from './invalidation.js' */
/** @import {Purge} from './purge-batch.js' */

/**
 * @typedef {object} Timing
 * @property {number} gatherMs  edits within this time are batched
 * @property {number} repeatAfterMs  the longest flight of a response, which the first purge misses
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} confirmMs  the longest that an author waits for the caches' confirmation
 * @property {number} checkMs  how often each process checks for entries that another one left behind
 * @property {number} leaseMs  longer than a purge takes
 * @property {number} everythingAfterMs  entries refused within it become one purge of everything
 */
/** @type {Timing} */
const TIMING = {
  gatherMs: 50,
  repeatAfterMs: 10_000,
  retryMs: 500,
  retryMaxMs: 60_000,
  confirmMs: 2_000,
  checkMs: 10_000,
  leaseMs: 60_000,
  everythingAfterMs: 10_000
}
const ENTRIES_PER_BATCH = 200
const CLOSE_MAX_MS = 2_000
/** How often a wait checks for purges by other processes. */
const CONFIRMATION_CHECK_MS = 200

/**
 * The part of the queue (queue/queue.js) that waits for caches: many entries become one purge, which is sent twice. An
 * edit's transaction writes its entry: a crash loses no purge, and no edit waits for a cache.
 * @typedef {{staleOf: (commit: Commit) => Stale, staleByCounts: (recounted: Recounted) => Stale | null}} Policy
 * @typedef {Policy & {connection: Connection, purge: Purge, during?: During}} Parts
 * @typedef {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} Log
 * @typedef {{clock?: Clock, random?: () => number}} Surroundings  what a simulation replaces
 * @typedef {{target?: import('./purge-queues.js').Target}} Which  only these caches' entries; default: all
 * @param {Parts & {log: Log, timing?: Partial<Timing>} & Which & Surroundings} parts
 */
export function createPurgeQueue ({
  connection, purge, staleOf, staleByCounts, log, timing = {}, target, clock = realClock, random = Math.random,
  during = (_entries, work) => work()
}) {
  const times = { ...TIMING, ...timing }
  const { gatherMs, repeatAfterMs, retryMs, confirmMs, checkMs, leaseMs } = times
  const store = createPurgeEntries(connection, { leaseMs, repeatAfterMs, target, clock })
  const { depth } = store
  const closing = new AbortController()
  let unreadable = false
  /** @type {Promise<void>} */
  let running = Promise.resolve()
  const waker = createWaker({ signal: closing.signal, gatherMs, clock })
  const confirmations = createConfirmations()
  const callbacks = { onPurged: confirmations.notify, wakeUpIn: waker.wakeUpIn }
  const purger = createBatchPurger({ store, purge, log, timing: times, signal: closing.signal, random, ...callbacks })

  /** @returns {Promise<{found: boolean, waitMs: number}>}  waitMs: for this long new edits do not wake this process */
  async function purgeBatch () {
    try {
      const entries = await store.claim(ENTRIES_PER_BATCH)
      const waitMs = entries.length === 0 ? 0 : await during(entries, () => purger.purgeEntries(entries))
      if (entries.length > 0) await depth.readAtTimes()
      else if (depth.state().waiting > 0) await depth.read()
      unreadable = false
      return { found: entries.length > 0, waitMs }
    } catch (error) {
      if (!unreadable && !closing.signal.aborted) {
        log.warn(`the queue of purges cannot be read or written, still trying: ${/** @type {Error} */ (error).message}`)
      }
      unreadable = true
      return { found: true, waitMs: retryMs }
    }
  }

  async function work () {
    while (!closing.signal.aborted) {
      const { found, waitMs } = await purgeBatch()
      // Timers may fire early: entries must be due when the pause ends.
      if (waitMs > 0) await waker.pause(waitMs + gatherMs)
      // Random, so that processes do not check together.
      else if (!found) await waker.idle(checkMs * (1 + random() / 2))
    }
  }

  return {
    ...createPurgeTasks({ staleOf, staleByCounts, api: target?.api }),
    /** Call this after the transaction. */
    added: waker.wakeUp,
    isPurged: store.isPurged,
    /** `waiting` and `oldestAt` as this process saw them last. */
    state: () => ({ ...purger.state(), waiting: depth.state().waiting, oldestAt: depth.state().oldestAt }),
    /** At most `confirmMs`, and not while purges fail. @param {string[]} names */
    waitUntilPurged: (names) => confirmations.wait({
      // The edit is stored: losing the database now must not fail the response.
      isConfirmed: () => store.isPurged(names).catch(() => true),
      isHopeless: () => purger.isFailing() || closing.signal.aborted,
      maxMs: confirmMs
    }),
    async open () {
      running = work()
    },
    async close () {
      closing.abort()
      await Promise.race([running, sleep(CLOSE_MAX_MS, undefined, { ref: false })])
    }
  }
}

/** @typedef {ReturnType<typeof createPurgeQueue>} PurgeQueue */

/**
 * What an edit's transaction adds to the queue.
 * @param {Policy & {api?: string}} parts  `api`: of the caches, if there are several
 */
function createPurgeTasks ({ staleOf, staleByCounts, api }) {
  const tasksOf = (/** @type {Stale[]} */ stales) => purgeTasks(stales, api)
  return {
    /** @param {Commit[]} commits */
    ofCommits: (commits) => tasksOf(commits.map(staleOf)),
    /** @param {Recounted} recounted */
    ofCounted (recounted) {
      const stale = staleByCounts(recounted)
      return stale === null ? [] : tasksOf([stale])
    },
    /** @param {string[]} urls  without scheme and host */
    ofUrls: (urls) => tasksOf([{ everything: false, urls, tags: [] }]),
    ofEverything: () => tasksOf([{ everything: true }])
  }
}

function createConfirmations () {
  /** @type {Set<() => void>} */
  const waits = new Set()

  /** @param {number} ms  at most */
  function next (ms) {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        waits.delete(end)
        resolve(undefined)
      }
      const timer = setTimeout(end, ms)
      waits.add(end)
    })
  }

  return {
    /** @param {{isConfirmed: () => Promise<boolean>, isHopeless: () => boolean, maxMs: number}} options */
    async wait ({ isConfirmed, isHopeless, maxMs }) {
      const endsAt = performance.now() + maxMs
      while (!isHopeless() && performance.now() < endsAt) {
        const confirmation = next(Math.min(CONFIRMATION_CHECK_MS, endsAt - performance.now()))
        if (await isConfirmed()) return
        await confirmation
      }
    },

    notify () { for (const end of waits) end() }
  }
}
