/**
 * @typedef {object} Limits
 * @property {number} minMs  before the first restart; doubles with each early death
 * @property {number} maxMs
 * @property {number} settledMs  a process that lived for so long has not died early
 * @property {number} restartsMax  within `windowMs`; then the keeper gives the service up
 * @property {number} windowMs
 */

/** @type {Readonly<Limits>} */
export const LIMITS = Object.freeze({
  minMs: 1_000, maxMs: 60_000, settledMs: 60_000, restartsMax: 10, windowMs: 600_000
})

/**
 * When a service that dies is started again. Times are milliseconds of one clock.
 * @param {Limits} limits
 */
export function createBackoff ({ minMs, maxMs, settledMs, restartsMax, windowMs }) {
  /** @type {number[]} */
  let restarts = []
  let startedMs = -Infinity
  let earlyDeaths = 0

  return {
    /** @param {number} nowMs */
    noteRestart (nowMs) {
      startedMs = nowMs
      restarts.push(nowMs)
    },

    /** @param {number} nowMs  of a death @returns {number | null} milliseconds to wait; null: give it up */
    waitMs (nowMs) {
      restarts = restarts.filter((restart) => restart > nowMs - windowMs)
      if (restarts.length >= restartsMax) return null
      earlyDeaths = nowMs - startedMs < settledMs ? earlyDeaths + 1 : 0
      return Math.min(maxMs, minMs * 2 ** earlyDeaths)
    }
  }
}
