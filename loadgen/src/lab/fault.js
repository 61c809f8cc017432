import { setTimeout as delay } from 'node:timers/promises'
import { request } from '@stevec/harness/request'
import { waitUntil } from '@stevec/harness/processes'
import { cutLinks, isLinkFault } from './link-fault.js'

/** k6 starts slowly on a busy machine. */
const BEGIN_TIMEOUT_MS = 120_000
const BACK_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 2_000

/**
 * A planned fault; its times count from the trial's first response.
 * @typedef {{kind: 'origin-down', from_s: number, for_s: number} | import('./link-fault.js').LinkFault} Fault
 */

/** @typedef {OriginDownTimes | import('./link-fault.js').LinkFaultTimes} FaultTimes */

/**
 * The times of an outage, microseconds since 1970. The origin's nginx was alive before `kill_began_at_us` and dead
 * after `dead_at_us`; it was started at `started_at_us`, and the wiki answered through it at `answering_at_us`.
 * @typedef {object} OriginDownTimes
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
 * Causes a fault and ends it at the planned times.
 * @param {object} options
 * @param {Fault} options.fault
 * @param {import('../stack/origin/origin.js').Origin} options.origin
 * @param {Pick<import('../stack/doors.js').Door, 'url' | 'ca_file'>} options.door  one straight to the origin
 * @param {() => Promise<boolean>} options.hasResponse  whether a request of the trial has a response
 * @param {() => void} options.onKill  called just before the kill
 * @param {string | null} options.linksApi  of the stack's links; null: it has none
 * @param {AbortSignal} options.signal
 * @returns {Promise<FaultTimes>}
 * @throws {Error} when no request arrives, or the fault cannot be caused or ended
 */
export async function causeFault ({ fault, origin, door, linksApi, hasResponse, onKill, signal }) {
  if (!await waitUntil(async () => signal.aborted || await hasResponse(), BEGIN_TIMEOUT_MS)) {
    throw new Error('the fault did not begin: no request of the trial got a response')
  }
  await delay(fault.from_s * 1000, undefined, { signal })
  if (isLinkFault(fault)) return cutLinks(fault, linksApi, signal)
  return killOrigin({ forS: fault.for_s, origin, door, onKill, signal })
}

/**
 * Kills the origin's nginx and starts it again. The wiki behind it keeps running and counting.
 * @param {Pick<Parameters<typeof causeFault>[0], 'origin' | 'door' | 'onKill' | 'signal'> & {forS: number}} options
 * @returns {Promise<OriginDownTimes>}
 * @throws {Error} when the origin does not die or does not answer again
 */
async function killOrigin ({ forS, origin, door, onKill, signal }) {
  onKill()
  const killBeganAtUs = nowUs()
  await origin.killNginx()
  const deadAtUs = nowUs() + CLOCK_RESOLUTION_US
  await delay(forS * 1000, undefined, { signal })
  const startedAtUs = nowUs()
  await origin.startNginx()
  const answers = () => request(`${door.url}/healthz`, { caFile: door.ca_file, timeoutMs: ANSWER_TIMEOUT_MS })
    .then(({ status }) => status === 200, () => false)
  if (!await waitUntil(answers, BACK_TIMEOUT_MS, 5)) {
    throw new Error('the origin\'s nginx does not answer after it was started again; the stack\'s folder has its log')
  }
  return {
    kind: 'origin-down',
    kill_began_at_us: killBeganAtUs,
    dead_at_us: deadAtUs,
    started_at_us: startedAtUs,
    answering_at_us: nowUs()
  }
}

/**
 * Whether a fault can hide from the client that the wiki has counted its request. A lost purge hides none.
 * @param {{kind: string}} fault
 */
export const hidesRequests = ({ kind }) => kind !== 'purges-lost'

/**
 * While requests may be cut off: while the origin's nginx is killed, or as long as a link is cut, because the edge may
 * send a request again when the link is mended, although its client has given up.
 * @param {FaultTimes} times
 * @returns {[number, number]} microseconds since 1970
 */
const timesOfCut = (times) => times.kind === 'origin-down'
  ? [times.kill_began_at_us, times.dead_at_us]
  : [times.cut_began_at_us, times.mended_at_us]

/**
 * Whether the wiki may have counted a request although the client got an error or a stale copy: it had no answer, at
 * any time of the trial, or was in flight when the origin's nginx was killed or while the link to the origin was cut.
 * @param {Pick<import('./k6-rows.js').RequestSample, 'doneAtUs' | 'durationMs' | 'status' | 'cacheStatus'>} sample
 * @param {FaultTimes} times
 */
export function wasCutOff ({ doneAtUs, durationMs, status, cacheStatus }, times) {
  if (!hidesRequests(times)) return false
  if (status === 0) return true
  const [from, until] = timesOfCut(times)
  return doneAtUs >= from && doneAtUs - durationMs * 1000 <= until && (status >= 400 || cacheStatus === 'STALE')
}
