// Arrival times in the open model. Node and k6 both run this file: no APIs of either.

/**
 * A crowd: from `at_s` the rate rises evenly for `ramp_s` to `factor` times the usual rate, stays there for `for_s`,
 * and falls back at once.
 * @typedef {{factor: number, at_s: number, ramp_s: number, for_s: number}} Burst
 */

/** @typedef {{duration_s: number, from_per_s: number, to_per_s: number}} Stage  the rate changes evenly */

/**
 * @param {number} ratePerS  before and after the burst
 * @param {Burst | null} burst
 * @param {number} durationS  at least to the burst's end
 * @returns {Stage[]} with this total duration
 */
export function stagesOf (ratePerS, burst, durationS) {
  const steady = (/** @type {number} */ duration, rate = ratePerS) => ({
    duration_s: duration,
    from_per_s: rate,
    to_per_s: rate
  })
  if (burst === null) return [steady(durationS)]
  const { factor, at_s: atS, ramp_s: rampS, for_s: forS } = burst
  const peak = ratePerS * factor
  return [
    steady(atS),
    { duration_s: rampS, from_per_s: ratePerS, to_per_s: peak },
    steady(forS, peak),
    steady(Math.max(0, durationS - endOf(burst)))
  ]
}

/** @param {Burst} burst */
export const endOf = ({ at_s: atS, ramp_s: rampS, for_s: forS }) => atS + rampS + forS

/**
 * @param {Stage[]} stages
 * @returns {number} iterations that start in these stages
 */
export function arrivalsIn (stages) {
  const arrivals = stages.reduce(
    (sum, { duration_s: durationS, from_per_s: from, to_per_s: to }) => sum + durationS * (from + to) / 2,
    0
  )
  // Ignores the rounding error of floating point below a whole number.
  return Math.floor(arrivals + 1e-6)
}
