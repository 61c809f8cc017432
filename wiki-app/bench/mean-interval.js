import { createRandom } from '@stevec/harness/random'

const RESAMPLES = 10_000
const SEED = 1

/**
 * The mean, with its 95 % interval by the percentile bootstrap: counts of losses are far from normal.
 * @param {number[]} values  of independent trials
 */
export function meanInterval (values) {
  const random = createRandom(SEED)
  const meanOf = (/** @type {number[]} */ some) => some.reduce((sum, value) => sum + value, 0) / some.length
  const means = Array.from({ length: RESAMPLES }, () =>
    meanOf(values.map(() => values[Math.floor(random() * values.length)]))).sort((a, b) => a - b)
  const at = (/** @type {number} */ share) => means[Math.min(RESAMPLES - 1, Math.floor(share * RESAMPLES))]
  return { mean: meanOf(values), low: at(0.025), high: at(0.975) }
}
