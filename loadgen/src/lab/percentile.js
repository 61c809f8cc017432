/**
 * Returns a percentile with linear interpolation, as the reports do (type 7 of R. J. Hyndman, Y. Fan, "Sample quantiles
 * in statistical packages", The American Statistician 50(4), 1996).
 * @param {ArrayLike<number>} sorted  rising
 * @param {number} percent  0…100
 * @param {number} [failed]  as many more values, above all others
 * @returns {number | null} null without values; Infinity where a failed one is among the two that it lies between
 */
export function percentileOf (sorted, percent, failed = 0) {
  const count = sorted.length + failed
  if (count === 0) return null
  const valueAt = (/** @type {number} */ index) => index < sorted.length ? sorted[index] : Infinity
  // Floating point would put the 99.9th percentile of 1001 values a little above the thousandth.
  const position = Math.round((count - 1) * percent * 1e6 / 100) / 1e6
  const below = Math.floor(position)
  const low = valueAt(below)
  return position === below || low === Infinity ? low : low + (position - below) * (valueAt(below + 1) - low)
}
