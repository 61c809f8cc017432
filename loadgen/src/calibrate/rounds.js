import { availableParallelism } from 'node:os'
import { withFitted } from '../profile/profile.js'
import { engageProfile } from '../stack/engage-profile.js'
import { deviation, median, nextShare, nextTimes, serviceTime } from './fit.js'
import { capacity, meanDuration } from './short-trials.js'

export const DOORS = /** @type {const} */ (['source', 'local', 'cached'])
const TRIALS = 3
const ROUNDS_MAX = 5
const CAPACITY_STEPS_MAX = 4
const TIMES_TOLERANCE = 0.03
const CAPACITY_TOLERANCE = 0.06

/** @typedef {import('../profile/calibration-file.js').Fitted} Fitted */
/** @typedef {Record<(typeof DOORS)[number], number>} Means  milliseconds, by door */
/** @typedef {NonNullable<import('../profile/profile.js').ProfileFile['calibration']>} Target */

/**
 * A stack to fit a profile on.
 * @typedef {object} Fitting
 * @property {import('../stack/state.js').StackState} stack
 * @property {import('../profile/profile.js').Profile} profile  as this machine applies it, before the fit
 * @property {Target} target
 * @property {number} sizeBytes  of a response
 * @property {AbortSignal} signal
 * @property {(text: string) => void} line  reports progress
 */

/**
 * One round of fitting, as in the calibration's evidence.
 * @typedef {object} Round
 * @property {Fitted} fitted  the values in force
 * @property {number} service_ms
 * @property {number} capacity_target_per_s
 * @property {number | null} capacity_measured_per_s  null: CPU is not limited
 * @property {Record<string, number[]>} trials_ms  means of the trials, by door
 * @property {Means} mean_ms  their medians
 * @property {number} off  the largest relative deviation from a target
 */

/**
 * Measures and corrects the fitted values, until all targets are met or five rounds have passed.
 * @param {Fitting} fitting
 * @returns {Promise<Round[]>}
 */
export async function fitRounds (fitting) {
  const { profile, target, line } = fitting
  const startedAt = performance.now()
  const { origin, client, links } = profile.asked
  /** @type {Fitted} */
  let fitted = {
    cpu_share: profile.applied.cpu ? origin.cpu_share : null,
    delay_ms: origin.delay_ms,
    overhead_ms: client.overhead_ms,
    client_edge_rtt_ms: links.client_edge_rtt_ms
  }
  /** @type {Round[]} */
  const rounds = []
  for (let number = 1; number <= ROUNDS_MAX; number++) {
    const { round, isMet } = await measureRound(fitting, fitted)
    rounds.push(round)
    line(`round ${number} of at most ${ROUNDS_MAX} (${Math.round((performance.now() - startedAt) / 1000)} s): ${roundText(round, target)}`)
    if (isMet) break
    fitted = nextTimes(round.fitted, target.mean_ms, round.mean_ms)
  }
  return rounds
}

/**
 * Fits the CPU share, then measures the mean times.
 * @param {Fitting} fitting
 * @param {Fitted} start
 * @returns {Promise<{round: Round, isMet: boolean}>} `isMet`: whether all targets are
 */
async function measureRound (fitting, start) {
  const { stack, profile, target, sizeBytes, signal } = fitting
  const serviceMs = serviceTime(profile.asked, start.overhead_ms, sizeBytes)
  const capacityTarget = target.origin_cores * 1000 / serviceMs
  const { fitted, measured } = await fitCapacity(fitting, start, capacityTarget)
  /** @type {Record<string, number[]>} */
  const trials = { source: [], local: [], cached: [] }
  for (let trial = 0; trial < TRIALS; trial++) {
    for (const door of DOORS) trials[door].push(round1(await meanDuration(stack, door, signal)))
  }
  const means = /** @type {Means} */ (Object.fromEntries(DOORS.map((door) => [door, median(trials[door])])))
  const timesOff = Math.max(...DOORS.map((door) => Math.abs(deviation(means[door], target.mean_ms[door]))))
  const capacityOff = measured === null ? 0 : Math.abs(deviation(measured, capacityTarget))
  return {
    isMet: timesOff <= TIMES_TOLERANCE && capacityOff <= CAPACITY_TOLERANCE,
    round: {
      fitted,
      service_ms: round1(serviceMs),
      capacity_target_per_s: round1(capacityTarget),
      capacity_measured_per_s: measured === null ? null : round1(measured),
      trials_ms: trials,
      mean_ms: means,
      off: round3(Math.max(timesOff, capacityOff))
    }
  }
}

/**
 * Corrects the CPU share until the origin has the capacity, in at most four steps.
 * @param {Fitting} fitting
 * @param {Fitted} start  put in force first
 * @param {number} target  responses per second
 * @returns {Promise<{fitted: Fitted, measured: number | null}>} the values in force, and the capacity under them; null
 *   where CPU is not limited
 */
async function fitCapacity ({ stack, profile, signal }, start, target) {
  const engage = async (/** @type {Fitted} */ values) => {
    stack.profile = { ...profile, asked: withFitted(profile.asked, values) }
    await engageProfile(stack)
  }
  let fitted = start
  await engage(fitted)
  if (!profile.applied.cpu) return { fitted, measured: null }
  let measured = await capacity(stack, signal)
  for (let step = 1; step < CAPACITY_STEPS_MAX && fitted.cpu_share !== null; step++) {
    if (Math.abs(deviation(measured, target)) <= CAPACITY_TOLERANCE) break
    fitted = { ...fitted, cpu_share: nextShare(fitted.cpu_share, target, measured, availableParallelism()) }
    await engage(fitted)
    measured = await capacity(stack, signal)
  }
  return { fitted, measured }
}

/**
 * @param {Round} round
 * @param {Target} target
 */
function roundText (round, target) {
  const means = DOORS.map((door) => `${door} ${round.mean_ms[door]} ms (study ${target.mean_ms[door]})`)
  const { capacity_measured_per_s: measured, capacity_target_per_s: wanted } = round
  const capacityText = measured === null ? '' : `, capacity ${measured.toFixed(1)}/s (target ${wanted.toFixed(1)})`
  return `${means.join(', ')}${capacityText}`
}

/** @param {number} value */
const round1 = (value) => Math.round(value * 10) / 10
/** @param {number} value */
export const round3 = (value) => Math.round(value * 1000) / 1000
