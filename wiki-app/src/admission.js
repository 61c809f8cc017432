import createError from '@fastify/error'
import { createUnderWay } from './under-way.js'

const RETRY_AFTER_S = 2
/** How often it is looked at what waits, while anything does. */
const LOOK_MS = 50
/** So many are worked at when nothing is known yet, and between these bounds it is learnt. */
const AT_WORK = { first: 64, min: 8, max: 1_024 }
/** More at once than are done in this time, on the average, only makes all of them slower. */
const WORK_MS = 100
/** What takes so long is waiting for something else, and keeps nobody from working. */
const WORK_MAX_MS = 1_000
/** Requests that wait at once. */
const WAITING_MAX = 4_096

const Busy = createError('WIKI_BUSY', 'More is asked of the wiki than it can answer just now. Nothing was done; try again in a moment.', 503)

/**
 * Lets only so many handlers work at once as are done in a short time; what comes besides waits in one line, and is told after `waitMaxMs` that it will not be
 * answered. So whoever is answered is answered soon, however many ask. See docs/decisions/0016.
 * @param {object} options
 * @param {number} options.waitMaxMs  0: there is no line, all work at once
 * @param {number} [options.workMaxMs]  after which work keeps no other from beginning
 */
export function createAdmission ({ waitMaxMs, workMaxMs = WORK_MAX_MS }) {
  const busy = Object.assign(new Busy(), { headers: { 'retry-after': String(RETRY_AFTER_S) } })
  let atWorkMax = AT_WORK.first
  /** When each began. @type {import('./under-way.js').UnderWay<{since: number}>} */
  const atWork = createUnderWay()
  /** @type {{since: number, isGone: () => boolean, begin: () => void, refuse: (error: Error) => void}[]} */
  const waiting = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let done = 0
  let doneMs = 0

  function next () {
    while (atWork.size < atWorkMax && waiting.length > 0) {
      const first = /** @type {typeof waiting[0]} */ (waiting.shift())
      if (first.isGone()) first.refuse(busy)
      else first.begin()
    }
  }

  function look () {
    const now = performance.now()
    const fresh = waiting.findIndex(({ since }) => now - since < waitMaxMs)
    const late = waiting.splice(0, fresh === -1 ? waiting.length : fresh)
    for (const work of atWork.all()) if (now - work.since >= workMaxMs) atWork.remove(work)
    if (done > 0) {
      atWorkMax = doneMs / done > WORK_MS
        ? Math.max(AT_WORK.min, Math.floor(0.8 * atWorkMax))
        : Math.min(AT_WORK.max, Math.ceil(1.1 * atWorkMax))
      done = 0
      doneMs = 0
    }
    next()
    for (const { refuse } of late) refuse(busy)
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /**
   * What is answered without waiting for anything was never at work beside others.
   * @template T
   * @param {() => T | Promise<T>} work
   * @returns {T | Promise<T>}
   */
  function beginWork (work) {
    const since = performance.now()
    const begun = work()
    return begun instanceof Promise ? atWorkUntilDone(begun, { since }) : begun
  }

  /**
   * @template T
   * @param {Promise<T>} begun
   * @param {{since: number}} mine
   * @returns {Promise<T>}
   */
  async function atWorkUntilDone (begun, mine) {
    atWork.add(mine)
    try {
      return await begun
    } finally {
      if (atWork.remove(mine) && timer !== undefined) {
        done++
        doneMs += performance.now() - mine.since
      }
      if (waiting.length > 0) next()
    }
  }

  return {
    /**
     * Begins work that would not have to wait for its turn.
     * @template T
     * @param {() => Promise<T>} work
     * @returns {Promise<T> | undefined} undefined: it would
     */
    atOnce (work) {
      if (waitMaxMs === 0) return work()
      return atWork.size < atWorkMax && waiting.length === 0 ? /** @type {Promise<T>} */ (beginWork(work)) : undefined
    },

    /**
     * The same handler, which waits for its turn.
     * @param {import('fastify').RouteHandlerMethod} handler
     * @returns {import('fastify').RouteHandlerMethod}
     * @throws {Error} 503 when that did not come in time
     */
    inTurn (handler) {
      if (waitMaxMs === 0) return handler
      return function (request, reply) {
        const begin = () => beginWork(() => handler.call(this, request, reply))
        if (atWork.size < atWorkMax && waiting.length === 0) return begin()
        if (waiting.length >= WAITING_MAX) return Promise.reject(busy)
        timer ??= setInterval(look, LOOK_MS)
        return new Promise((resolve, reject) => {
          waiting.push({ since: performance.now(), isGone: () => request.raw.destroyed, begin: () => new Promise((resolve) => { resolve(begin()) }).then(resolve, reject), refuse: reject })
        })
      }
    }
  }
}
