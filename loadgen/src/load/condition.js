import { UsageError } from '../usage-error.js'

/** What `--fail-if` and `--search` compare. @type {Record<string, 'ms' | '%' | '/s'>} */
const UNITS = { mean: 'ms', max: 'ms', failed: '%', rate: '/s' }
const FORM = /^\s*(p\d{1,2}(?:\.\d{1,3})?|mean|max|failed|rate)\s*([<>])\s*(\d+(?:\.\d+)?)\s*(ms|s|%|\/s)?\s*$/

/**
 * A comparison of a measure with a limit, such as `p99>200ms`.
 * @typedef {object} Condition
 * @property {string} text  as typed
 * @property {string} measure  pN, mean, max (ms), failed (%) or rate (a second)
 * @property {'<' | '>'} sign
 * @property {number} limit  in the measure's unit
 */

/**
 * @param {string} text
 * @param {string} flag  for the message
 * @returns {Condition}
 * @throws {UsageError}
 */
export function parseCondition (text, flag) {
  const [, measure, sign, number, unit] = FORM.exec(text) ?? []
  if (measure === undefined) {
    throw new UsageError(
      `${flag} is a comparison such as "p99>200ms", "mean>1s", "failed>1%" or "rate<100/s", not "${text}"`
    )
  }
  const wanted = UNITS[measure] ?? 'ms'
  if (unit !== undefined && unit !== wanted && !(unit === 's' && wanted === 'ms')) {
    const inWords = wanted === '/s' ? 'requests a second' : wanted
    throw new UsageError(`${flag} ${text}: ${measure} is in ${inWords}, not in ${unit}`)
  }
  const limit = Number(number) * (unit === 's' ? 1000 : 1)
  return { text: text.trim(), measure, sign: /** @type {'<' | '>'} */ (sign), limit }
}

/**
 * @param {Condition} condition
 * @param {import('./outcome.js').Outcome} outcome
 * @returns {boolean} whether it holds. Percentiles are of all requests: one that failed took longer than any other
 */
export function holds ({ measure, sign, limit }, outcome) {
  const value = valueOf(measure, outcome)
  return sign === '>' ? value > limit : value < limit
}

/**
 * @param {string} measure
 * @param {import('./outcome.js').Outcome} outcome
 * @returns {number} in the measure's unit; percentiles and max are Infinity where a failed request decides
 */
export function valueOf (measure, outcome) {
  if (measure === 'failed') return 100 * outcome.failed / outcome.requests
  if (measure === 'rate') return outcome.answered_per_s ?? 0
  if (measure === 'mean') return outcome.response_mean_ms ?? Infinity
  if (measure === 'max') return outcome.failed > 0 ? Infinity : outcome.response_max_ms ?? Infinity
  return outcome.percentileOfAll(Number(measure.slice(1)))
}
