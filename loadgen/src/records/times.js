/**
 * `finished_at_us`: when nothing waited any more, null if that is not known; a time before the last answer: whatever
 * was answered was stored.
 * @typedef {{finished_at_us: number | null, database_cpu_s: number | null}} Finished
 */

/**
 * @template {Finished} T
 * @typedef {Omit<T, 'finished_at_us'> &
 *   {extra_s: number | null, ops_per_s: number | null, database_cpu_share: number | null}} Timed
 */

/**
 * @template {Finished} T
 * @param {T} found
 * @param {Pick<import('../lab/samples.js').Counts, 'first_sent_at_us' | 'last_done_at_us'>} samples
 * @param {number} stored
 * @returns {Timed<T>} with the time from the last answer until all was stored, and what is relative to both times
 */
export function withTimes ({ finished_at_us: finishedUs, ...rest }, samples, stored) {
  const { first_sent_at_us: firstUs, last_done_at_us: lastUs } = samples
  if (firstUs === null || lastUs === null) return { ...rest, extra_s: null, ops_per_s: null, database_cpu_share: null }
  const endUs = Math.max(lastUs, finishedUs ?? lastUs)
  const wallS = (endUs - firstUs) / 1e6
  const whole = finishedUs !== null && wallS > 0
  return {
    ...rest,
    extra_s: whole ? (endUs - lastUs) / 1e6 : null,
    ops_per_s: whole && stored > 0 ? stored / wallS : null,
    database_cpu_share: whole && rest.database_cpu_s !== null ? rest.database_cpu_s / wallS : null
  }
}
