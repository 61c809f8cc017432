import { UsageError } from '../usage-error.js'
import { holds } from './condition.js'

const FIRST_PER_S = 10
const WARM_UP_S = 2
/** The search ends when the highest rate that held and the lowest that did not are as near as this. */
const NEAR = 1.1
/** Share of a rate that has to be answered: above it, requests queue. */
const KEEPS_UP = 0.95

/** @typedef {import('./outcome.js').Outcome} Outcome */

/**
 * Searches the highest rate at which a condition holds, all but a twentieth of the requests are answered in time, and
 * the generator is not the limit. Doubles the rate until one of these fails, then halves the interval. A rate that
 * failed is tried twice, as a cold cache or a moment of the machine would end the search for good.
 * @param {object} options
 * @param {import('./condition.js').Condition} options.condition  an upper limit
 * @param {(ratePerS: number, seconds: number) => Promise<Outcome>} options.measure
 * @param {number} options.seconds  of each step; the first is preceded by a shorter one that does not count
 * @param {number} options.mostPerS
 * @param {number} options.requestsMax  of all steps together
 * @param {(ratePerS: number, outcome: Outcome, held: boolean) => void} options.note
 * @returns {Promise<{held_per_s: number | null, broken_per_s: number | null}>} null: none was found
 * @throws {UsageError} for a condition that a higher rate fulfils
 */
export async function searchRate ({ condition, measure, seconds, mostPerS, requestsMax, note }) {
  if (condition.sign !== '<' || condition.measure === 'rate') {
    throw new UsageError(`--search takes an upper limit, such as "p99<200ms" or "failed<1%", not "${condition.text}"`)
  }
  const first = Math.min(FIRST_PER_S, mostPerS)
  await measure(first, WARM_UP_S)
  let left = requestsMax - first * WARM_UP_S
  /** @type {number | null} */
  let held = null
  /** @type {number | null} */
  let broken = null
  for (let rate = first; left >= rate * seconds;) {
    let isGood = false
    for (let attempt = 1; attempt <= 2 && !isGood && left >= rate * seconds; attempt++) {
      left -= rate * seconds
      const outcome = await measure(rate, seconds)
      isGood = holds(condition, outcome) && outcome.saturation?.limit !== 'generator' &&
        (outcome.answered_per_s ?? 0) >= KEEPS_UP * rate
      note(rate, outcome, isGood)
    }
    if (isGood) held = rate
    else broken = rate
    const next = nextRate(held, broken, mostPerS)
    if (next === null) break
    rate = next
  }
  return { held_per_s: held, broken_per_s: broken }
}

/**
 * @param {number | null} held
 * @param {number | null} broken
 * @param {number} mostPerS
 * @returns {number | null} null: there is nothing left to try
 */
function nextRate (held, broken, mostPerS) {
  if (broken === null) return held === null || held >= mostPerS ? null : Math.min(2 * held, mostPerS)
  if (held === null) return broken > 1 ? Math.floor(broken / 2) : null
  if (broken / held <= NEAR) return null
  const between = Math.round(Math.sqrt(held * broken))
  return between === held || between === broken ? null : between
}
