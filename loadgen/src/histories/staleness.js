/**
 * Times in ms of one monotonic clock. `sent_ms`: of the request; `done_ms`: when its response was complete.
 * @typedef {{page: string, revision: number, sent_ms: number, done_ms: number}} Read
 * @typedef {{page: string, revision: number, acknowledged_ms: number}} Save  acknowledged_ms: when the response came
 */

/**
 * How old what was read was: since when a newer revision had been acknowledged when the read was sent; 0: there was
 * none. The age of the oldest read is the smallest bound that a history has: with each read begun so much earlier, the
 * page is a regular register (L. Lamport: On interprocess communication, 1986).
 * @param {Save[]} saves
 * @returns {(read: Pick<Read, 'page' | 'revision' | 'sent_ms'>) => number} ms
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
 * The Δ of Δ-atomicity, ms: the smallest time by which reads have to begin earlier for the page to be an atomic
 * register (W. Golab, X. Li, M. A. Shah: Analyzing consistency properties for fun and profit, PODC 2011). Then no read
 * returns an older text than one that was complete Δ before it was sent, even if the save had no answer yet: what a
 * reader got counts as acknowledged. Γ, for which saves move, too, is no larger (W. Golab, M. R. Rahman, A. AuYoung, K.
 * Keeton, I. Gupta: Client-centric benchmarking of eventual consistency for cloud storage systems, ICDCS 2014).
 * @param {{reads: Read[], saves: Save[]}} history  in which each save began before a read returned its text
 * @returns {number}
 */
export function atomicDelta ({ reads, saves }) {
  const seen = reads.map(({ page, revision, done_ms: doneMs }) => ({ page, revision, acknowledged_ms: doneMs }))
  const stalenessOf = createStaleness([...saves, ...seen])
  return reads.reduce((most, read) => Math.max(most, stalenessOf(read)), 0)
}

/**
 * Of `reads` reads none violated the bound: of all reads under these conditions, at most this share does, with 95 %
 * confidence. Clopper and Pearson, for no success: 1 − 0.05^(1/n).
 * @param {number} reads
 */
export const violatedShareMax = (reads) => reads === 0 ? 1 : 1 - 0.05 ** (1 / reads)

/**
 * @param {{reads: Read[], saves: Save[]}} history @param {number} boundMs
 * @returns {{reads: number, stale: number, violations: Read[], staleness_max_ms: number, atomic_delta_ms: number,
 *   violated_share_max: number}}  the last two: see atomicDelta and violatedShareMax; 1 if a read violates the bound
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
    atomic_delta_ms: atomicDelta({ reads, saves }),
    violated_share_max: violations.length > 0 ? 1 : violatedShareMax(reads.length)
  }
}
