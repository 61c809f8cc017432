/**
 * Times in ms of one monotonic clock.
 * @typedef {{page: string, revision: number, sent_ms: number}} Read  sent_ms: of the request
 * @typedef {{page: string, revision: number, acknowledged_ms: number}} Save  acknowledged_ms: when the response came
 */

/**
 * How old what was read was: since when a newer revision had been acknowledged when the read was sent; 0: there was
 * none. The age of the oldest read is the smallest bound Δ that a history has: with each read begun Δ earlier, the page
 * is a regular register (L. Lamport: On interprocess communication, 1986). That is less than Δ-atomicity (W. Golab, X.
 * Li, M. A. Shah: Analyzing consistency properties for fun and profit, PODC 2011), which also forbids that a later read
 * returns an older text than an earlier one while a save is under way. It is not Γ, which moves saves, too.
 * @param {Save[]} saves
 * @returns {(read: Read) => number} ms
 */
export function createStaleness (saves) {
  /** By page, for each revision: since when it, or a newer one, was acknowledged. @type {Map<string, number[]>} */
  const since = new Map()
  for (const { page, revision, acknowledged_ms: ms } of saves) {
    const times = since.get(page) ?? []
    since.set(page, times)
    times[revision] = Math.min(times[revision] ?? Infinity, ms)
  }
  for (const times of since.values()) {
    for (let revision = times.length - 1; revision >= 0; revision--) {
      times[revision] = Math.min(times[revision] ?? Infinity, times[revision + 1] ?? Infinity)
    }
  }
  return ({ page, revision, sent_ms: sentMs }) => Math.max(0, sentMs - (since.get(page)?.[revision + 1] ?? Infinity))
}

/**
 * Of `reads` reads none violated the bound: of all reads under these conditions, at most this share does, with 95 %
 * confidence. Clopper and Pearson, for no success: 1 − 0.05^(1/n).
 * @param {number} reads
 */
export const violatedShareMax = (reads) => reads === 0 ? 1 : 1 - 0.05 ** (1 / reads)

/**
 * @param {{reads: Read[], saves: Save[]}} history @param {number} boundMs
 * @returns {{reads: number, stale: number, violations: Read[], staleness_max_ms: number, violated_share_max: number}}
 *   violated_share_max: see violatedShareMax; 1 if one does
 */
export function judgeStaleness ({ reads, saves }, boundMs) {
  const stalenessOf = createStaleness(saves)
  let stale = 0
  let maxMs = 0
  const violations = []
  for (const read of reads) {
    const ms = stalenessOf(read)
    if (ms > 0) stale++
    maxMs = Math.max(maxMs, ms)
    if (ms > boundMs) violations.push(read)
  }
  return {
    reads: reads.length,
    stale,
    violations,
    staleness_max_ms: maxMs,
    violated_share_max: violations.length > 0 ? 1 : violatedShareMax(reads.length)
  }
}
