import { percentileOf } from './percentile.js'

/**
 * How well an open-model trial kept to its plan. Lag: from the planned time to the sending.
 * @typedef {object} ScheduleFacts
 * @property {number} never_sent  planned requests that found no free VU within the request time-out
 * @property {number | null} lag_p50_ms
 * @property {number | null} lag_p99_ms
 * @property {number | null} lag_max_ms
 * @property {number | null} response_mean_ms  of answered requests, from their planned times
 */

/**
 * Compares what was sent with the plan.
 * @param {number} requests  planned; each takes 9 bytes
 * @param {(index: number) => number} plannedMs
 */
export function createSchedule (requests, plannedMs) {
  const sent = new Uint8Array(requests)
  const lagsMs = new Float64Array(requests)
  let count = 0
  let responseMs = 0
  let answered = 0
  /** Time of day at which the plan begins, by the last sample. @type {number | null} */
  let beganAtUs = null
  return {
    /** @param {Pick<import('./samples.js').RequestSample, 'plannedAtUs' | 'sentAtUs' | 'doneAtUs' | 'iteration' |
     *   'failure'>} sample */
    add ({ plannedAtUs, sentAtUs, doneAtUs, iteration, failure }) {
      if (plannedAtUs === null) return
      if (failure === '') {
        responseMs += (doneAtUs - plannedAtUs) / 1000
        answered += 1
      }
      // The POST of `get-post` follows its GET, and has no planned time of its own.
      if (sent[iteration] === 1) return
      sent[iteration] = 1
      lagsMs[count++] = Math.max(0, (sentAtUs - plannedAtUs) / 1000)
      beganAtUs = plannedAtUs - plannedMs(iteration) * 1000
    },

    /** @returns {Iterable<{index: number, plannedAtUs: number}>} nothing if no request was sent at all */
    * neverSent () {
      if (beganAtUs === null) return
      for (let index = 0; index < requests; index++) {
        if (sent[index] === 0) yield { index, plannedAtUs: Math.round(beganAtUs + plannedMs(index) * 1000) }
      }
    },

    /** @returns {ScheduleFacts} */
    facts () {
      const lags = lagsMs.subarray(0, count).sort()
      const rounded = (/** @type {number | null} */ value) => value === null ? null : Math.round(value * 1000) / 1000
      return {
        never_sent: requests - count,
        lag_p50_ms: rounded(percentileOf(lags, 50)),
        lag_p99_ms: rounded(percentileOf(lags, 99)),
        lag_max_ms: rounded(percentileOf(lags, 100)),
        response_mean_ms: rounded(answered === 0 ? null : responseMs / answered)
      }
    }
  }
}
