/**
 * Returns a percentile with linear interpolation, as the reports do (type 7 of R. J. Hyndman, Y. Fan, "Sample quantiles
 * in statistical packages", The American Statistician 50(4), 1996).
 * @param {ArrayLike<number>} sorted  rising
 * @param {number} percent  0…100
 * @returns {number | null} null without values
 */
export function percentileOf (sorted, percent) {
  if (sorted.length === 0) return null
  const position = (sorted.length - 1) * percent / 100
  const below = Math.floor(position)
  const above = Math.min(below + 1, sorted.length - 1)
  return sorted[below] + (position - below) * (sorted[above] - sorted[below])
}
