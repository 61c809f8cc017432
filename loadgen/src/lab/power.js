import { countOf } from '../count-of.js'

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
 * @param {{inStudy: boolean}} options  whether p is corrected for the study's hypotheses
 * @returns {number | null} repetitions from which on p can pass Holm's correction, whatever the other hypotheses' p.
 *   The least p of a two-sided sign-flip test over n values is 2^(1−n). null: of no hypothesis with such a test
 */
export function leastRepetitions ({ name, thresholds = {} }, { inStudy }) {
  if (![...SIGN_FLIPPED, ...T_TESTED].includes(name)) return null
  const { alpha = ALPHA, hypotheses = HYPOTHESES } = thresholds
  const corrected = inStudy && !T_TESTED.includes(name) ? hypotheses : 1
  let repetitions = 1
  while (2 ** (1 - repetitions) * corrected >= alpha) repetitions += 1
  return repetitions
}

/**
 * @param {Definition} definition
 * @param {{inStudy: boolean}} options
 * @returns {boolean | null} whether a test can decide its hypothesis; null: it has none
 */
export function isDecidable (definition, options) {
  const least = leastRepetitions(definition, options)
  return least === null ? null : definition.repetitions >= least
}

/**
 * @param {Definition[]} definitions
 * @param {{inStudy: boolean}} options
 * @returns {string[]} a sentence on each of whose hypotheses no test can decide
 */
export const undecidable = (definitions, options) => definitions
  .filter((definition) => isDecidable(definition, options) === false)
  .map((definition) => `with ${countOf(definition.repetitions, 'repetition')} no test ` +
    `can decide ${definition.id}, whatever comes: it takes ${leastRepetitions(definition, options)}`)
