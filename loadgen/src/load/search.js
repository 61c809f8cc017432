import { holds } from './condition.js'

const FIRST_PER_S = 10
/** The search ends when the highest rate that held and the lowest that did not are as near as this. */
const NEAR = 1.1

/**
 * Searches the highest rate at which a condition holds: doubles the rate until it does not, then halves the interval.
 * A rate that the generator could not keep counts as too high.
 * @param {import('./condition.js').Condition} condition
 * @param {(ratePerS: number) => Promise<import('./outcome.js').Outcome>} measure
 * @param {number} mostPerS
 * @param {(ratePerS: number, outcome: import('./outcome.js').Outcome, held: boolean) => void} note
 * @returns {Promise<{held_per_s: number | null, broken_per_s: number | null}>} null: none was found
 */
export async function searchRate (condition, measure, mostPerS, note) {
  /** @type {number | null} */
  let held = null
  /** @type {number | null} */
  let broken = null
  for (let rate = FIRST_PER_S; rate >= 1 && rate <= mostPerS;) {
    const outcome = await measure(rate)
    const isGood = holds(condition, outcome) && outcome.failed === 0
    note(rate, outcome, isGood)
    if (isGood) held = rate
    else broken = rate
    if (held !== null && broken !== null && broken / held <= NEAR) break
    rate = broken === null ? rate * 2 : held === null ? Math.floor(rate / 2) : Math.round(Math.sqrt(held * broken))
    if (rate === held || rate === broken) break
  }
  return { held_per_s: held, broken_per_s: broken }
}
