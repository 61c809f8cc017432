import { createInFlight } from '../process/in-flight.js'
import { createFirstComeFirstServed } from './waiting.js'

/** @import {WaitingLine} from './waiting.js' */

const CHECK_MS = 50
const LIMITS = { min: 8, max: 1_024 }
const WAITING_MAX = 4_096

/**
 * @typedef {{since: number, checks: number, workedMs?: number}} Running
 * @typedef {{until: number, isGone: () => boolean, start: () => void, refuse: () => void, class?: string,
 *   network?: string}} Queued
 */

/**
 * As much work runs at once as finishes within a short time; the rest waits.
 * @typedef {object} Options
 * @property {number} waitMaxMs  after this time queued work is refused
 * @property {number} [waitMoreMs]  up to so much later, at random; default 0
 * @property {number} first  limit of running work before anything is measured
 * @property {{min: number, max: number}} [running]  bounds of the measured limit
 * @property {number} workMs  target for the mean duration
 * @property {number} workMaxMs  longer work waits for something else, and frees its slot
 * @property {() => Error} refusal
 * @property {WaitingLine<Queued>} [waiting]  who is next; default: who came first
 * @property {(ms: number) => number} [restMs]  how long a slot then rests, empty, after work of `ms`; default 0
 * @property {() => number} [slotsMax]  just now, below the measured limit
 * @param {Options} options
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createRequestQueue ({
  waitMaxMs, waitMoreMs = 0, first, running: bounds = LIMITS, workMs, workMaxMs, refusal, restMs = () => 0,
  slotsMax = () => Infinity, waiting = createFirstComeFirstServed(WAITING_MAX)
}) {
  let limit = first
  /**
   * Checks count instead of time: a process without CPU must not mistake its work for hanging.
   * @type {import('../process/in-flight.js').InFlight<Running>}
   */
  const running = createInFlight()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let done = 0
  let doneMs = 0

  const hasSlot = () => running.size < Math.min(limit, slotsMax())
  const isFree = () => waiting.length === 0 && hasSlot()

  function startWaiting () {
    while (hasSlot()) {
      const next = waiting.take()
      if (next === undefined) return
      if (next.isGone()) next.refuse()
      else next.start()
    }
  }

  function check () {
    for (const work of running.all()) {
      work.checks += 1
      if (work.checks * CHECK_MS >= workMaxMs) finish(work)
    }
    adaptLimit()
    startWaiting()
    const now = performance.now()
    const over = waiting.remove(({ until, isGone }) => isGone() || now >= until)
    for (const each of over) each.refuse()
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Little's law. */
  function adaptLimit () {
    if (done === 0) return
    limit = doneMs / done > workMs
      ? Math.max(bounds.min, Math.floor(0.8 * limit))
      : Math.min(bounds.max, Math.ceil(1.1 * limit))
    done = 0
    doneMs = 0
  }

  /** @param {Running} work */
  function finish (work) {
    if (!running.remove(work) || timer === undefined) return
    done++
    doneMs += work.workedMs ?? performance.now() - work.since
  }

  /** @param {Running} entry */
  function release (entry) {
    finish(entry)
    if (waiting.length > 0) startWaiting()
  }

  /** Synchronous work does not count as running. @template T @param {() => T | Promise<T>} work */
  function startWork (work) {
    const since = performance.now()
    const result = work()
    return result instanceof Promise ? trackUntilDone(result, { since, checks: 0 }) : result
  }

  /** @template T @param {Promise<T>} result @param {Running} entry */
  async function trackUntilDone (result, entry) {
    running.add(entry)
    try {
      return await result
    } finally {
      entry.workedMs = performance.now() - entry.since
      const pauseMs = restMs(entry.workedMs)
      if (pauseMs > 0) setTimeout(release, pauseMs, entry).unref()
      else release(entry)
    }
  }

  return {
    /** @template T @param {() => Promise<T>} work @returns {Promise<T> | undefined} undefined: no slot is free */
    runNow: (work) => isFree() ? /** @type {Promise<T>} */ (startWork(work)) : undefined,

    /**
     * @template T @param {() => T | Promise<T>} work
     * @param {() => boolean} isGone  the client has disconnected: drops the work
     * @param {{class?: string, network?: string}} [turn]  whose turn it takes
     * @returns {T | Promise<T>}
     * @throws {Error} the refusal, when no slot is free in time or the queue is full
     */
    run (work, isGone, turn = {}) {
      if (isFree()) return startWork(work)
      timer ??= setInterval(check, CHECK_MS)
      return new Promise((resolve, reject) => {
        const start = () => {
          new Promise((resolve) => { resolve(startWork(work)) }).then(/** @type {any} */ (resolve), reject)
        }
        const until = performance.now() + waitMaxMs + waitMoreMs * Math.random()
        waiting.add({ ...turn, until, isGone, start, refuse: () => reject(refusal()) })
      })
    }
  }
}
