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
      accepted_median_ms: accepted[accepted.length >> 1],
      accepted_max_ms: accepted[accepted.length - 1],
      gap_max_ms: Math.max(...of.map(({ gap_ms: ms }) => ms))
    }
  })
}

/** @param {Outcome} outcome */
const nameOf = ({ target, kind }) => `${target} ${kind}`
