import { setTimeout as delay } from 'node:timers/promises'
import { request } from '@stevec/harness/request'
import { waitUntil } from '@stevec/harness/processes'

/** k6 starts slowly on a busy machine. */
const BEGIN_TIMEOUT_MS = 120_000
const BACK_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 2_000

/**
 * A planned fault; its times count from the trial's first response.
 * @typedef {{kind: 'origin-down', from_s: number, for_s: number}} Fault
 */

/**
 * The times of a fault, microseconds since 1970. The origin's nginx was alive before `kill_began_at_us` and dead after
 * `dead_at_us`; it was started at `started_at_us`, and the wiki answered through it at `answering_at_us`.
 * @typedef {object} FaultTimes
 * @property {'origin-down'} kind
 * @property {number} kill_began_at_us
 * @property {number} dead_at_us
 * @property {number} started_at_us
 * @property {number} answering_at_us
 */

const nowUs = () => Date.now() * 1000
/** Date has millisecond resolution. */
const CLOCK_RESOLUTION_US = 1000

/**
 * Kills the origin's nginx and starts it again at the planned times. The wiki behind it keeps running and counting.
 * @param {object} options
 * @param {Fault} options.fault
 * @param {import('../stack/origin/origin.js').Origin} options.origin
 * @param {Pick<import('../stack/doors.js').Door, 'url' | 'ca_file'>} options.door  one straight to the origin
 * @param {() => Promise<boolean>} options.hasResponse  whether a request of the trial has a response
 * @param {() => void} options.onKill  called just before the kill
 * @param {AbortSignal} options.signal
 * @returns {Promise<FaultTimes>}
 * @throws {Error} when no request arrives, or the origin does not die or does not answer again
 */
export async function causeFault ({ fault, origin, door, hasResponse, onKill, signal }) {
  if (!await waitUntil(async () => signal.aborted || await hasResponse(), BEGIN_TIMEOUT_MS)) {
    throw new Error('the fault did not begin: no request of the trial got a response')
  }
  await delay(fault.from_s * 1000, undefined, { signal })
  onKill()
  const killBeganAtUs = nowUs()
  await origin.killNginx()
  const deadAtUs = nowUs() + CLOCK_RESOLUTION_US
  await delay(fault.for_s * 1000, undefined, { signal })
  const startedAtUs = nowUs()
  await origin.startNginx()
  const answers = () => request(`${door.url}/healthz`, { caFile: door.ca_file, timeoutMs: ANSWER_TIMEOUT_MS })
    .then(({ status }) => status === 200, () => false)
  if (!await waitUntil(answers, BACK_TIMEOUT_MS, 5)) {
    throw new Error('the origin\'s nginx does not answer after it was started again; the stack\'s folder has its log')
  }
  return {
    kind: fault.kind,
    kill_began_at_us: killBeganAtUs,
    dead_at_us: deadAtUs,
    started_at_us: startedAtUs,
    answering_at_us: nowUs()
  }
}

/**
 * Whether the wiki may have counted a request although the client got an error or a stale copy: the request was in
 * flight when the origin's nginx was killed.
 * @param {Pick<import('./k6-rows.js').RequestSample, 'doneAtUs' | 'durationMs' | 'status' | 'cacheStatus'>} sample
 * @param {FaultTimes} times
 */
export function wasCutOff (
  { doneAtUs, durationMs, status, cacheStatus },
  { kill_began_at_us: from, dead_at_us: until }
) {
  return doneAtUs >= from && doneAtUs - durationMs * 1000 <= until &&
    (status === 0 || status >= 400 || cacheStatus === 'STALE')
}
