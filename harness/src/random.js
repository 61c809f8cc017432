import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { mersenne } from 'pure-rand/generator/mersenne'

/**
 * @param {number} seed  an integer
 * @returns {() => number} numbers uniform in [0, 1); the same sequence for the same seed
 */
export function createRandom (seed) {
  const generator = mersenne(seed)
  return () => uniformFloat64(generator)
}
