import { setTimeout as sleep } from 'node:timers/promises'
import { createWaker } from '../queue/waker.js'
import { RedisAway } from '../shared/connection.js'

/** @import {Entry, RedisBuffer} from './redis-buffer.js' */
/** @import {Lease} from './lease.js' */

/** How often each process looks for what another one has left behind. */
const CHECK_MS = 10_000
/** While another process stores, and while Redis or the database is away. */
const [OTHER_PAUSE_MS, AWAY_PAUSE_MS] = [200, 500]
/** For what gives up to end; the process has a second after its time. */
const END_MAX_MS = 500

/**
 * Empties the buffer when this process has put something there, and looks now and then whether another one left
 * something behind. One process at a time is at work.
 * @param {object} parts
 * @param {Pick<RedisBuffer, 'read' | 'amount'>} parts.buffer
 * @param {Lease} parts.lease
 * @param {(entries: Entry[], signal: AbortSignal) => Promise<boolean>} parts.drain  see drain.js
 * @param {(first: Entry) => boolean} parts.isOthers  whether other processes have acknowledged all from this one on
 * @param {() => boolean} parts.isAvailable  the database
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error'>} parts.log
 * @param {number} [parts.checkMs]
 */
export function createDrainer ({ buffer, lease, drain, isOthers, isAvailable, log, checkMs = CHECK_MS }) {
  const ending = new AbortController()
  const waker = createWaker({ signal: ending.signal, gatherMs: 0 })
  let closing = false
  let failing = false
  let batches = 0
  /** While the wiki stops: of those that waited then. */
  let left = 0
  /** @type {Promise<void>} */
  let running = Promise.resolve()

  /** @param {Entry | undefined} first  of those that wait */
  const isDone = (first) => first === undefined || (closing && left <= 0 && isOthers(first))

  /** @param {AbortSignal} signal @returns {Promise<boolean>} whether nothing is left to do */
  async function drainAll (signal) {
    while (!signal.aborted) {
      const entries = await buffer.read()
      if (isDone(entries[0])) return true
      batches++
      if (!await drain(entries, signal)) return false
      left -= entries.length
    }
    return false
  }

  /** @returns {Promise<number>} milliseconds until the next look; 0: there is nothing to do */
  async function look () {
    try {
      const [first] = await buffer.read({ max: 1 })
      if (isDone(first)) return 0
      if (!isAvailable()) return AWAY_PAUSE_MS
      const done = await lease.withLease(drainAll, { keeps: isAvailable, ends: ending.signal })
      failing = false
      // The process that stores goes on with what it has acknowledged itself.
      if (done === null) return closing && isOthers(first) ? 0 : OTHER_PAUSE_MS
      return done ? 0 : AWAY_PAUSE_MS
    } catch (error) {
      if (!failing && !(error instanceof RedisAway) && isAvailable()) {
        failing = true
        log.error({ err: error }, 'unexpected error: saves that wait in Redis are not stored, and are tried again')
      }
      return AWAY_PAUSE_MS
    }
  }

  async function work () {
    while (!ending.signal.aborted) {
      const pauseMs = await look()
      if (closing && pauseMs !== OTHER_PAUSE_MS) return
      if (pauseMs > 0) await waker.pause(pauseMs)
      // Random, so that processes do not look together.
      else await waker.idle(checkMs * (1 + Math.random() / 2))
    }
  }

  return {
    wakeUp: waker.wakeUp,
    batches: () => batches,
    open () { running = work() },

    /**
     * Stores what waits now, unless Redis or the database is away. What another process stores, it leaves to that one.
     * @param {number} withinMs
     */
    async close (withinMs) {
      closing = true
      left = buffer.amount().records
      waker.wakeUp()
      await Promise.race([running, sleep(withinMs, undefined, { ref: false })])
      ending.abort()
      await Promise.race([running, sleep(END_MAX_MS, undefined, { ref: false })])
    }
  }
}
