import { setTimeout as sleep } from 'node:timers/promises'
import { createClaims } from './claims.js'
import { createDepth } from './depth.js'
import { createEntries } from './entries.js'
import { createWaker } from './waker.js'
import { createWorker, isLong } from './worker.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Task} from './entries.js' */
/** @import {Work} from './worker.js' */

/**
 * @typedef {object} Timing
 * @property {number[]} lookAfterMs  when to look after something was added
 * @property {number} checkMs  how often each process looks for what another one left behind
 * @property {number} leaseMs  longer than a step takes
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} failuresMax  then an entry is set aside
 */
/** @type {Timing} */
const TIMING = {
  lookAfterMs: [50, 500, 5_000],
  checkMs: 10_000,
  leaseMs: 60_000,
  retryMs: 500,
  retryMaxMs: 60_000,
  failuresMax: 12
}
const CLOSE_MAX_MS = 2_000

/**
 * The wiki's list of things to do after an edit. The edit's transaction adds an entry, so a crash loses none. One
 * process at a time works on an entry. What is not in `works` others do: the purges of caches wait for the caches (see
 * caching/purge-queue.js), and newer versions, which run beside this one or did, know more kinds.
 * @param {object} parts
 * @param {Connection} parts.connection
 * @param {Record<string, Work>} parts.works  by kind
 * @param {string[]} [parts.elsewhere]  kinds that something else works on and watches
 * @param {(error: unknown) => boolean} parts.isUnavailable  the database is away: no failure of the entry
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} parts.log
 * @param {Partial<Timing>} [parts.timing]
 * @param {import('./worker.js').During} [parts.during]
 */
export function createQueue ({ connection, works, elsewhere = [], isUnavailable, log, timing = {}, during }) {
  const times = { ...TIMING, ...timing }
  const entries = createEntries(connection)
  const claims = createClaims(entries.collection, { leaseMs: times.leaseMs, delayMaxMs: times.retryMaxMs })
  const closing = new AbortController()
  const { signal } = closing
  const waker = createWaker({ signal, gatherMs: 0 })
  const workOn = createWorker({ connection, claims, works, isUnavailable, log, timing: times, signal, during })
  let unreadable = false
  let running = Promise.resolve()
  // Also those of kinds that only newer versions know: they wait as well.
  const depth = createDepth(entries, { kind: { $nin: elsewhere } })

  /** @returns {Promise<boolean>} whether there was something to do */
  async function workOnce () {
    try {
      const entry = await claims.claim(Object.keys(works))
      if (entry === null) {
        if (depth.state().waiting > 0) await depth.read()
        else await depth.readAtTimes()
      } else {
        if (isLong(works[entry.kind])) await depth.read()
        else await depth.readAtTimes()
        const againMs = await workOn(entry, () => { depth.readAtTimes().catch(() => {}) })
        if (againMs > 0) waker.wakeUpIn(againMs)
      }
      if (unreadable) log.warn('the queue of things to do after edits goes on')
      unreadable = false
      return entry !== null
    } catch (error) {
      if (!unreadable && !signal.aborted) {
        log.warn(`the queue of things to do after edits stands still: ${/** @type {Error} */ (error).message}`)
      }
      unreadable = true
      await waker.pause(times.retryMs)
      return true
    }
  }

  async function work () {
    while (!signal.aborted) {
      // Random, so that processes do not look together.
      if (!await workOnce()) await waker.idle(times.checkMs * (1 + Math.random() / 2))
    }
  }

  return {
    /** @param {Task[]} tasks @param {ClientSession} session */
    async add (tasks, session) {
      if (tasks.length === 0) return
      await entries.add(tasks, session)
      if (!tasks.some(({ kind }) => kind in works)) return
      // It can be seen once the transaction is committed.
      for (const ms of times.lookAfterMs) waker.wakeUpIn(ms)
    },
    /** As this process saw it last, at most `checkMs` ago. */
    state: () => ({ ...depth.state(), isFailing: unreadable }),
    async open () { running = work() },
    async close () {
      closing.abort()
      await Promise.race([running, sleep(CLOSE_MAX_MS, undefined, { ref: false })])
    }
  }
}

/** @typedef {ReturnType<typeof createQueue>} Queue */
/** Within the edit's transaction. @typedef {Queue['add']} Later */
