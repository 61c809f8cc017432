/** A tenth of E1's requests miss the cache, and take as long as without one. */
const MISS_RATIO = 0.1

/** @typedef {{source: number, local: number, cached: number}} Means  mean durations by door, milliseconds */
/** @typedef {import('../profile/calibration-file.js').Fitted} Fitted */

/**
 * Returns how long a page takes on the emulated host itself: E1's mean without a cache, less the client's own time, two
 * round trips (connection, request) and sending the page.
 * @param {import('../profile/profile.js').ProfileFile} profile  with a calibration
 * @param {number} overheadMs
 * @param {number} sizeBytes  of a response
 * @returns {number} milliseconds
 */
export function serviceTime ({ links, calibration }, overheadMs, sizeBytes) {
  const { origin_uplink_mbit_per_s: mbitPerS } = links
  const sendMs = mbitPerS === null ? 0 : sizeBytes * 8 / (mbitPerS * 1000)
  const { source } = /** @type {NonNullable<import('../profile/profile.js').ProfileFile['calibration']>} */ (
    calibration
  ).mean_ms
  return Math.max(1, source - overheadMs - 2 * links.client_origin_rtt_ms - sendMs)
}

/**
 * Corrects the three times by the remaining differences. Every request includes the client's own time; `source` and
 * each miss include the origin's delay; `cached` includes two round trips to the edge. Three doors, three unknowns: E1
 * determines them, but tests nothing.
 * @param {Fitted} fitted  the values behind `measured`
 * @param {Means} target
 * @param {Means} measured
 * @returns {Fitted}
 */
export function nextTimes (fitted, target, measured) {
  const left = {
    source: target.source - measured.source,
    local: target.local - measured.local,
    cached: target.cached - measured.cached
  }
  const delay = (left.source - left.local) / (1 - MISS_RATIO)
  const overhead = left.source - delay
  const roundTrip = (left.cached - overhead - MISS_RATIO * delay) / 2
  const tenth = (/** @type {number} */ value) => Math.max(0, Math.round(value * 10) / 10)
  return {
    ...fitted,
    delay_ms: tenth(fitted.delay_ms + delay),
    overhead_ms: tenth(fitted.overhead_ms + overhead),
    client_edge_rtt_ms: tenth(fitted.client_edge_rtt_ms + roundTrip)
  }
}

/**
 * Scales a CPU share by target / measured, as the response rate is proportional to the CPU; at most fourfold per step.
 * @param {number} share
 * @param {number} target  responses per second
 * @param {number} measured
 * @param {number} cores  of this machine, the upper limit
 */
export function nextShare (share, target, measured, cores) {
  const factor = Math.min(4, Math.max(0.25, target / Math.max(measured, 0.1)))
  return Math.min(cores, Math.max(0.002, Math.round(share * factor * 10_000) / 10_000))
}

/**
 * @param {number[]} values  at least one
 */
export function median (values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * @param {number} measured
 * @param {number} target
 * @returns {number} relative, e.g. 0.03 for 3 % more
 */
export const deviation = (measured, target) => measured / target - 1
