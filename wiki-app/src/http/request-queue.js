import { createInFlight } from '../process/in-flight.js'

/** How often running and queued work is checked, while anything is queued. */
const LOOK_MS = 50
const AT_WORK = { min: 8, max: 1_024 }
const WAITING_MAX = 4_096

/**
 * Limits how much work of one kind runs at once to what finishes within a short time. The rest waits in one queue, and
 * is refused after `waitMaxMs`.
 * @param {object} options
 * @param {number} options.waitMaxMs
 * @param {number} options.first  limit of running work before anything is measured
 * @param {{min: number, max: number}} [options.atWork]  bounds of the measured limit
 * @param {number} options.workMs  target for the mean duration: running more at once than finishes within it only slows
 *   everything down
 * @param {number} options.workMaxMs  work that takes longer is waiting for something else, and frees its slot
 * @param {() => Error} options.refusal
 */
export function createRequestQueue ({ waitMaxMs, first, atWork: bounds = AT_WORK, workMs, workMaxMs, refusal }) {
  let atWorkMax = first
  /**
   * Counts checks instead of time: a process that got no CPU for a second must not mistake its own work for work that
   * hangs.
   * @type {import('../process/in-flight.js').InFlight<{since: number, looks: number}>}
   */
  const atWork = createInFlight()
  /** @type {{since: number, isGone: () => boolean, begin: () => void, refuse: (error: Error) => void}[]} */
  let waiting = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let done = 0
  let doneMs = 0

  const isFree = () => atWork.size < atWorkMax && waiting.length === 0

  function next () {
    while (atWork.size < atWorkMax && waiting.length > 0) {
      const oldest = /** @type {typeof waiting[0]} */ (waiting.shift())
      if (oldest.isGone()) oldest.refuse(refusal())
      else oldest.begin()
    }
  }

  function look () {
    for (const work of atWork.all()) {
      work.looks += 1
      if (work.looks * LOOK_MS >= workMaxMs) leave(work)
    }
    learn()
    next()
    const now = performance.now()
    const all = waiting
    waiting = []
    for (const each of all) {
      if (each.isGone() || now - each.since >= waitMaxMs) each.refuse(refusal())
      else waiting.push(each)
    }
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Adapts the limit by Little's law: as much work runs at once as finishes within `workMs`. */
  function learn () {
    if (done === 0) return
    atWorkMax = doneMs / done > workMs
      ? Math.max(bounds.min, Math.floor(0.8 * atWorkMax))
      : Math.min(bounds.max, Math.ceil(1.1 * atWorkMax))
    done = 0
    doneMs = 0
  }

  /** @param {{since: number, looks: number}} work */
  function leave (work) {
    if (!atWork.remove(work) || timer === undefined) return
    done++
    doneMs += performance.now() - work.since
  }

  /**
   * Synchronous work does not count as running.
   * @template T
   * @param {() => T | Promise<T>} work
   * @returns {T | Promise<T>}
   */
  function beginWork (work) {
    const since = performance.now()
    const begun = work()
    return begun instanceof Promise ? atWorkUntilDone(begun, { since, looks: 0 }) : begun
  }

  /**
   * @template T
   * @param {Promise<T>} begun
   * @param {{since: number, looks: number}} mine
   * @returns {Promise<T>}
   */
  async function atWorkUntilDone (begun, mine) {
    atWork.add(mine)
    try {
      return await begun
    } finally {
      leave(mine)
      if (waiting.length > 0) next()
    }
  }

  return {
    /**
     * Starts work if a slot is free.
     * @template T
     * @param {() => Promise<T>} work
     * @returns {Promise<T> | undefined} undefined: no slot is free
     */
    runNow: (work) => isFree() ? /** @type {Promise<T>} */ (beginWork(work)) : undefined,

    /**
     * @template T
     * @param {() => T | Promise<T>} work
     * @param {() => boolean} isGone  whether the client has disconnected: then the work is dropped
     * @returns {T | Promise<T>}
     * @throws {Error} the refusal, when no slot is free in time or the queue is full
     */
    run (work, isGone) {
      if (isFree()) return beginWork(work)
      if (waiting.length >= WAITING_MAX) return Promise.reject(refusal())
      timer ??= setInterval(look, LOOK_MS)
      return new Promise((resolve, reject) => {
        const begin = () => {
          new Promise((resolve) => { resolve(beginWork(work)) }).then(/** @type {any} */ (resolve), reject)
        }
        waiting.push({ since: performance.now(), isGone, begin, refuse: reject })
      })
    }
  }
}
