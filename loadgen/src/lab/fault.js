import { setTimeout as delay } from 'node:timers/promises'
import { killOrigin, startOrigin } from '../stack/outage.js'
import { waitUntil } from '../stack/processes.js'

/** On a busy machine k6 takes long to begin. */
const BEGIN_TIMEOUT_MS = 120_000

/**
 * What is to go wrong in a trial, counted from its first answer.
 * @typedef {{kind: 'origin-down', from_s: number, for_s: number}} Fault
 */

/**
 * When it went wrong, microseconds since 1970. The nginx of the origin was alive before `kill_began_at_us` and dead after `dead_at_us`; it was started at
 * `started_at_us`, and the wiki answered through it at `answering_at_us`.
 * @typedef {{kind: 'origin-down', kill_began_at_us: number, dead_at_us: number, started_at_us: number, answering_at_us: number}} FaultTimes
 */

const nowUs = () => Date.now() * 1000
/** Date has whole milliseconds. */
const CLOCK_RESOLUTION_US = 1000

/**
 * Kills the origin's nginx and starts it again at the planned times. The wiki behind it lives on, and its counter with it.
 * @param {object} options
 * @param {Fault} options.fault
 * @param {import('../stack/state.js').StackState} options.stack
 * @param {string} options.stackDirectory
 * @param {() => boolean} options.begun  whether a request of the trial has been answered
 * @param {() => void} options.onKill  called just before
 * @param {AbortSignal} options.signal
 * @returns {Promise<FaultTimes>}
 * @throws {Error} when no request comes, or the origin does not die or does not come back
 */
export async function causeFault ({ fault, stack, stackDirectory, begun, onKill, signal }) {
  if (!await waitUntil(() => signal.aborted || begun(), BEGIN_TIMEOUT_MS)) throw new Error('no request came for the fault to begin with')
  await delay(fault.from_s * 1000, undefined, { signal })
  onKill()
  const killBeganAtUs = nowUs()
  await killOrigin(stack)
  const deadAtUs = nowUs() + CLOCK_RESOLUTION_US
  await delay(fault.for_s * 1000, undefined, { signal })
  const { startedAtMs, answeringAtMs } = await startOrigin(stack, stackDirectory)
  return { kind: fault.kind, kill_began_at_us: killBeganAtUs, dead_at_us: deadAtUs, started_at_us: startedAtMs * 1000, answering_at_us: answeringAtMs * 1000 }
}

/**
 * Whether the wiki may have counted a request although its answer came from elsewhere: it was under way when the origin's nginx was killed, and was then
 * answered with an error or with a stale copy.
 * @param {import('./samples.js').Sample} sample
 * @param {FaultTimes} times
 */
export function wasCutOff ({ doneAtUs, durationMs, status, cacheStatus }, { kill_began_at_us: from, dead_at_us: until }) {
  return doneAtUs >= from && doneAtUs - durationMs * 1000 <= until && (status === 0 || status >= 400 || cacheStatus === 'STALE')
}
