/**
 * Student's t, 97.5 %, of 1 to 30 degrees of freedom.
 * https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm
 */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
  2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042
]

/** Rounds of one ratio. */
export const ROUNDS_MAX = T.length + 1

/**
 * Returns how many times as much one takes as another. Each round measures both, one right after the other, so that
 * changes of the machine's speed affect both.
 * @param {number[]} ours  one value per round, in any unit
 * @param {number[]} base  of the same rounds
 * @returns {{ratio: number, low: number, high: number, n: number}} geometric mean of the rounds' ratios and its 95 %
 *   interval, Student's t on logarithms
 * @throws {Error} when there are too few or too many rounds for an interval, or a value is not above 0
 */
export function pairedRatio (ours, base) {
  const n = ours.length
  if (n !== base.length || n < 2 || n > ROUNDS_MAX) {
    throw new Error(`an interval takes the same 2 to ${ROUNDS_MAX} rounds of both, not ${n} and ${base.length}`)
  }
  if ([...ours, ...base].some((value) => !(value > 0))) {
    throw new Error(`all must be above 0: ${ours.join(', ')} and ${base.join(', ')}`)
  }
  const logs = ours.map((value, round) => Math.log(value / base[round]))
  const mean = logs.reduce((sum, log) => sum + log, 0) / n
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (n - 1)
  const half = T[n - 2] * Math.sqrt(variance / n)
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half), n }
}

/**
 * @param {number[]} values  of the rounds, above 0
 * @returns {{mean: number, low: number, high: number}} their geometric mean and its 95 % interval
 */
export function meanOf (values) {
  const { ratio, low, high } = pairedRatio(values, values.map(() => 1))
  return { mean: ratio, low, high }
}

/** @param {number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
