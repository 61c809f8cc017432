/** @import {Outcome} from './torture.js' */

/**
 * @param {Outcome[]} outcomes
 * @returns {{fault: string, times: number, accepted_median_ms: number, accepted_max_ms: number, gap_max_ms: number}[]}
 *   by what was hit and how
 */
export function byFault (outcomes) {
  const faults = [...new Set(outcomes.map(nameOf))].sort()
  return faults.map((fault) => {
    const of = outcomes.filter((outcome) => nameOf(outcome) === fault)
    const accepted = of.map(({ accepted_after_ms: ms }) => ms).sort((a, b) => a - b)
    return {
      fault,
      times: of.length,
      accepted_median_ms: median(accepted),
      accepted_max_ms: accepted[accepted.length - 1],
      gap_max_ms: Math.max(...of.map(({ gap_ms: ms }) => ms))
    }
  })
}

/**
 * @param {Outcome[]} outcomes
 * @returns {number | null} the longest time until an edit was accepted, of the faults that hit the primary and nothing
 *   else; null: no fault did
 */
export function primaryAcceptedMaxMs (outcomes) {
  const accepted = outcomes.filter(({ target, alone }) => target === 'primary' && alone)
    .map(({ accepted_after_ms: ms }) => ms)
  return accepted.length === 0 ? null : Math.max(...accepted)
}

/** @param {Outcome} outcome */
const nameOf = ({ target, kind }) => `${target} ${kind}`

/** @param {number[]} sorted  not empty */
function median (sorted) {
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
