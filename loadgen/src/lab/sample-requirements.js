import { setTimeout as delay } from 'node:timers/promises'
import { intervalBetween } from '../machine/usage.js'
import { readMachine } from '../machine/reading.js'
import { gitState } from './manifest.js'
import { undecidable } from './power.js'
import { STUDY } from './study.js'

const WATCHED_MS = 5_000
/** Of the cores: what other processes, or the host of a virtual machine, may use. */
export const OTHERS_SHARE_MAX = 0.05
/** A short burst of others passes within half a minute. */
const ATTEMPTS_MAX = 6

/** A study that may not call itself a sample; the message says why, and what to do. */
export class SampleError extends Error {}

/**
 * What a sample needs before its first trial and before each block.
 * @typedef {object} SampleState
 * @property {import('./definition.js').Definition[]} definitions
 * @property {import('../profile/profile.js').Profile} profile
 * @property {{kind: string} | null} target
 * @property {() => import('../machine/reading.js').WatchedProcess[]} processes  of the stack, which are not others'
 * @property {AbortSignal} signal
 */

/**
 * @param {SampleState} state
 * @throws {SampleError} naming each reason
 */
export async function refuseNoSample (state) {
  const reasons = await reasonsAgainstSample(state)
  if (reasons.length === 0) return
  throw new SampleError(['this would be no sample:', ...reasons.map((each) => `  ${each}`)].join('\n'))
}

/**
 * @param {SampleState} state
 * @returns {Promise<string[]>} what forbids to measure a sample now, each with what to do; [] when nothing does
 */
export async function reasonsAgainstSample (state) {
  const reasons = [...reasonsOfSettings(state), ...reasonsOfCode(gitState())]
  // The machine is watched last: what others use matters only if all else is well.
  return reasons.length > 0 ? reasons : reasonsOfMachine(state)
}

/**
 * @param {Pick<SampleState, 'definitions' | 'profile' | 'target'>} state
 * @returns {string[]}
 */
export function reasonsOfSettings ({ definitions, profile, target }) {
  const missing = STUDY.filter((name) => !definitions.some((definition) => definition.name === name))
  return [
    ...target === null ? [] : ['a sample is measured on a stack of the lab\'s own: leave out --target'],
    ...missing.length === 0 ? [] : [`it lacks ${missing.join(', ')}: leave out --only`],
    ...profile.calibration !== null
      ? []
      : [`the profile ${profile.name} has no values fitted on this machine: run \`stevec calibrate\`, and name the ` +
        'profile with --profile banana-pi'],
    // What is not calibrated is said above.
    ...profile.missing.filter((sentence) => profile.calibration !== null || !sentence.startsWith('not calibrated')),
    ...undecidable(definitions, { inStudy: true }).map((sentence) => `${sentence}; give more --repetitions, or none`)
  ]
}

/**
 * @param {Pick<ReturnType<typeof gitState>, 'commit' | 'dirty'>} git
 * @returns {string[]}
 */
export function reasonsOfCode ({ commit, dirty }) {
  if (commit === null) return ['the code is in no git checkout: clone the repository, and run it there']
  return dirty ? ['the code differs from its commit: commit the changes, or put them away'] : []
}

/**
 * @param {Pick<SampleState, 'processes' | 'signal'>} state
 * @returns {Promise<string[]>}
 */
async function reasonsOfMachine ({ processes, signal }) {
  let share = 0
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const measured = await othersShare(processes, signal)
    if (measured === null) return ['this system does not say who uses its processors (/proc)']
    if (measured < OTHERS_SHARE_MAX) return []
    share = measured
  }
  return [`others use ${(100 * share).toFixed(0)} % of the processors, and ${100 * OTHERS_SHARE_MAX} % is the most: ` +
    'stop other programs']
}

/**
 * @param {SampleState['processes']} processes
 * @param {AbortSignal} signal
 * @returns {Promise<number | null>} share of the cores over five seconds; null on a system without /proc
 */
export async function othersShare (processes, signal) {
  const begin = readMachine(processes(), 0)
  await delay(WATCHED_MS, undefined, { signal })
  const end = readMachine(processes(), 0)
  if (begin === null || end === null) return null
  const { others_cores: others, stolen_cores: stolen } = intervalBetween(begin, end)
  return (others + (stolen ?? 0)) / end.processors.cores
}
