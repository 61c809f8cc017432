const TICKS_PER_HALF_DISTANCE = 5

/**
 * Writes times as HdrHistogram's percentile distribution (.hgrm), which its plotter and other tools read.
 * https://github.com/HdrHistogram/HdrHistogram (outputPercentileDistribution)
 * Its percentiles are by nearest rank, as in all such files.
 * @param {Float64Array} sorted  ms, rising
 * @returns {string}
 */
export function hgrmOf (sorted) {
  const count = sorted.length
  const lines = ['       Value     Percentile TotalCount 1/(1-Percentile)', '']
  const line = (/** @type {number} */ value, /** @type {number} */ level, /** @type {number} */ total) =>
    lines.push(`${value.toFixed(3).padStart(12)} ${level.toFixed(12)} ${String(total).padStart(10)}` +
      (level < 1 ? ` ${(1 / (1 - level)).toFixed(2).padStart(14)}` : ''))
  for (let level = 0; level < 1;) {
    const total = Math.max(1, Math.ceil(level * count))
    line(sorted[total - 1], level, total)
    if (total === count) break
    // Each halving of the distance to 1 gets as many lines.
    const halvings = Math.floor(Math.log2(1 / (1 - level))) + 1
    level += 1 / (TICKS_PER_HALF_DISTANCE * 2 ** halvings)
  }
  line(sorted[count - 1], 1, count)
  const mean = sorted.reduce((sum, value) => sum + value, 0) / count
  const deviation = Math.sqrt(sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count)
  lines.push(
    `#[Mean    = ${mean.toFixed(3).padStart(12)}, StdDeviation   = ${deviation.toFixed(3).padStart(12)}]`,
    `#[Max     = ${sorted[count - 1].toFixed(3).padStart(12)}, Total count    = ${String(count).padStart(12)}]`
  )
  return `${lines.join('\n')}\n`
}
