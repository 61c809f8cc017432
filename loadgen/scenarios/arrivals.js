// Arrival times in the open model. Node and k6 both run this file: no APIs of either.
import { draw } from './plan.js'

const ARRIVAL_STREAM = 0x7f4a7c15

/** From the begin of a k6 test to its first planned time: by then all VUs have begun, and wait. */
export const BEGIN_MS = 1000

/**
 * `constant`: one request each 1 ÷ rate. `poisson`: requests arrive independently of each other.
 * @typedef {'constant' | 'poisson'} Arrivals
 */

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

/**
 * Returns the arrival times of a trial in the open model.
 * @param {{rate_per_s: number | null, burst: Burst | null, duration_max_s: number, arrivals: Arrivals}} settings
 * @param {import('./plan.js').Plan} plan
 */
export function arrivalTimesOf ({ rate_per_s: rate, burst, duration_max_s: durationS, arrivals }, plan) {
  const stages = stagesOf(/** @type {number} */ (rate), burst, durationS)
  return arrivalTimes({ stages, arrivals, count: plan.requests, seed: plan.seed, stream: plan.stream })
}

/**
 * Plans when each request of the open model is sent. Poisson arrivals are drawn given their number, so that a trial
 * always has the planned number of requests in the planned time: in the time scale in which the rate is 1 they are the
 * order statistics of uniform draws, made from sums of exponential ones (L. Devroye, "Non-Uniform Random Variate
 * Generation", 1986, V.3).
 * @param {object} options
 * @param {Stage[]} options.stages  every rate above 0
 * @param {Arrivals} options.arrivals
 * @param {number} options.count  number of requests; those after the last stage arrive at its final rate
 * @param {number} options.seed
 * @param {number} options.stream
 * @returns {(index: number) => number} ms from the begin of the load; index 0…count − 1, rising with it
 */
export function arrivalTimes ({ stages, arrivals, count, seed, stream }) {
  const timeAt = inverseOf(stages)
  if (arrivals === 'constant') return timeAt
  const sums = new Float64Array(count + 1)
  for (let index = 0, sum = 0; index <= count; index++) {
    sum -= Math.log(1 - draw(seed, stream ^ ARRIVAL_STREAM, index))
    sums[index] = sum
  }
  return (index) => timeAt(count * sums[index] / sums[count])
}

/**
 * @param {Stage[]} stages
 * @returns {(arrivals: number) => number} the time in ms by which so many requests have arrived on the mean
 */
function inverseOf (stages) {
  /** @type {{before: number, beginS: number, stage: Stage}[]} */
  const parts = []
  let [before, beginS] = [0, 0]
  for (const stage of stages) {
    if (stage.duration_s === 0) continue
    parts.push({ before, beginS, stage })
    before += stage.duration_s * (stage.from_per_s + stage.to_per_s) / 2
    beginS += stage.duration_s
  }
  const lastRate = stages[stages.length - 1].to_per_s
  return (arrivals) => {
    if (arrivals >= before) return (beginS + (arrivals - before) / lastRate) * 1000
    let last = parts.length - 1
    while (parts[last].before > arrivals) last -= 1
    const { before: earlier, beginS: from, stage } = parts[last]
    const { duration_s: durationS, from_per_s: begin, to_per_s: end } = stage
    const rest = arrivals - earlier
    // The root of begin·t + (end − begin)·t² ÷ 2·duration = rest, in the form that also holds for a steady rate.
    return (from + 2 * rest / (begin + Math.sqrt(begin ** 2 + 2 * (end - begin) * rest / durationS))) * 1000
  }
}
