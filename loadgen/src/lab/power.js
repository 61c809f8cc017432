/** Of the study, and of its report, unless an experiment's `thresholds` say otherwise. */
const ALPHA = 0.05
const HYPOTHESES = 6

/** Experiments whose hypothesis is decided by a sign-flip test with one value for each repetition. */
const SIGN_FLIPPED = ['read-hot', 'overload', 'mixed-write', 'write-vs-read-direct', 'write-vs-read-cached']
/** By t tests, whose p has no least value. The report asks for as many repetitions as a sign-flip test alone needs. */
const T_TESTED = ['read-sparse']

/** @typedef {import('./definition.js').Definition} Definition */

/**
 * @param {Definition} definition
 * @returns {number | null} repetitions from which on p can pass Holm's correction: the least p of a two-sided sign-flip
 *   test over n values is 2^(1−n). null: of no hypothesis with such a test
 */
export function leastRepetitions ({ name, thresholds = {} }) {
  if (![...SIGN_FLIPPED, ...T_TESTED].includes(name)) return null
  const { alpha = ALPHA, hypotheses = HYPOTHESES } = thresholds
  const corrected = T_TESTED.includes(name) ? 1 : hypotheses
  let repetitions = 1
  while (2 ** (1 - repetitions) * corrected >= alpha) repetitions += 1
  return repetitions
}

/**
 * @param {Definition} definition
 * @returns {boolean | null} whether the verdict on its hypothesis can be other than undecided; null: it has none
 */
export function isDecidable (definition) {
  const least = leastRepetitions(definition)
  return least === null ? null : definition.repetitions >= least
}

/**
 * @param {Definition[]} definitions
 * @returns {string[]} a sentence on each whose verdict stays undecided
 */
export const undecidable = (definitions) => definitions
  .filter((definition) => isDecidable(definition) === false)
  .map((definition) => `with ${definition.repetitions} repetition${definition.repetitions === 1 ? '' : 's'} the verdict ` +
    `on ${definition.id} stays undecided, whatever comes; it takes ${leastRepetitions(definition)}`)
