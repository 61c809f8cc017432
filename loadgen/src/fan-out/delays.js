import { percentileOf } from '../lab/percentile.js'

/**
 * A change and a watcher that looks for it. `seenAtUs`: null if the list never showed it.
 * @typedef {{watcher: string, change: string, doneAtUs: number, seenAtUs: number | null}} Showing
 */

/**
 * @param {Map<string, number>} acknowledged  {change: when its save was answered, µs since 1970}
 * @param {import('./feeds.js').Feeds['seen']} seen
 * @returns {Showing[]}
 */
export const showingsOf = (acknowledged, seen) => seen.flatMap(({ name: watcher, at }) =>
  [...acknowledged].map(([change, doneAtUs]) => ({ watcher, change, doneAtUs, seenAtUs: at.get(change) ?? null })))

/**
 * How long after the answer to a save the lists show it. A list may show it before: the client has the answer later
 * than the database.
 * @param {Showing[]} showings
 */
export function delaysOf (showings) {
  const delaysMs = showings.flatMap(({ doneAtUs, seenAtUs }) =>
    seenAtUs === null ? [] : [Math.max(0, (seenAtUs - doneAtUs) / 1000)]).sort((a, b) => a - b)
  const at = (/** @type {number} */ percent) => {
    const ms = percentileOf(delaysMs, percent)
    return ms === null ? null : round(ms)
  }
  return {
    shown: delaysMs.length,
    never_shown: showings.length - delaysMs.length,
    delay_mean_ms: delaysMs.length === 0 ? null : round(delaysMs.reduce((sum, ms) => sum + ms, 0) / delaysMs.length),
    delay_p50_ms: at(50),
    delay_p95_ms: at(95),
    delay_max_ms: at(100)
  }
}

/** @param {number} ms */
const round = (ms) => Math.round(1000 * ms) / 1000
