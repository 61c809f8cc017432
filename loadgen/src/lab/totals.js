import { countOf } from '../count-of.js'

/**
 * Totals of trials. `requests` are those of probe and background, sent or not.
 * @typedef {object} Totals
 * @property {number} trials
 * @property {number} invalid
 * @property {number} requests
 * @property {number} requests_failed
 * @property {number} requests_never_sent
 */

/**
 * @param {Pick<import('./trial.js').TrialResult, 'valid' | 'requests_sent' | 'requests_failed' | 'background'> &
 *   {schedule?: {never_sent: number} | null}} trial  of older runs without `schedule`
 * @returns {Totals} of this trial
 */
export function totalsOf ({ valid, requests_sent: sent, requests_failed: failed, schedule, background }) {
  const neverSent = schedule?.never_sent ?? 0
  return {
    trials: 1,
    invalid: valid ? 0 : 1,
    requests: sent + neverSent + (background?.requests_sent ?? 0),
    requests_failed: failed + (background?.requests_failed ?? 0),
    requests_never_sent: neverSent
  }
}

/**
 * @param {Totals[]} all
 * @returns {Totals}
 */
export function sumOf (all) {
  const sum = (/** @type {keyof Totals} */ name) => all.reduce((total, each) => total + each[name], 0)
  return {
    trials: sum('trials'),
    invalid: sum('invalid'),
    requests: sum('requests'),
    requests_failed: sum('requests_failed'),
    requests_never_sent: sum('requests_never_sent')
  }
}

/**
 * @param {Totals} totals
 * @returns {string} the end of a sentence; '' if every request was answered
 */
export function unansweredText ({ requests, requests_failed: failed, requests_never_sent: neverSent }) {
  if (failed + neverSent === 0) return ''
  const were = neverSent === 1 ? 'was' : 'were'
  if (failed === 0) return `; ${neverSent} of ${countOf(requests, 'request')} ${were} never sent`
  return `; ${failed} of ${countOf(requests, 'request')} failed${neverSent > 0 ? `, ${neverSent} ${were} never sent` : ''}`
}
