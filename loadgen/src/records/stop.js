import { draw } from '../../scenarios/plan.js'
import { waitUntil } from '@stevec/harness/processes'
import { readStats } from './service.js'

/**
 * A signal to the record service in the middle of the load.
 * @typedef {{signal: 'SIGTERM' | 'SIGKILL', after_requests: number, spread?: number}} RecordStop
 */

/**
 * @typedef {object} StopFacts
 * @property {'SIGTERM' | 'SIGKILL'} signal
 * @property {number} after_requests  as drawn
 * @property {number} waiting  records that were accepted and not stored, at the last reading before the signal
 * @property {import('./service.js').Stats} stats  of that reading
 * @property {number} took_ms  until the process had ended
 * @property {number | null} exit_code  null: ended by the signal
 */

const EVERY_MS = 5
const STREAM = 0x7feb352d

/**
 * A batch is always as full after the same number of records: the moment must not be the same in all repetitions.
 * @param {RecordStop} stop
 * @param {Pick<import('../../scenarios/plan.js').Plan, 'seed' | 'stream'>} plan
 * @returns {RecordStop} without a spread
 */
export const drawStop = ({ spread = 0, ...stop }, { seed, stream }) =>
  ({ ...stop, after_requests: stop.after_requests + Math.floor(draw(seed, stream ^ STREAM, 0) * (spread + 1)) })

/**
 * Sends the signal once the service has counted enough records, and waits for its end.
 * @param {object} options
 * @param {RecordStop} options.stop
 * @param {import('./service.js').Program} options.program
 * @param {string} options.url
 * @param {import('./service.js').Stats} options.before  the load
 * @param {() => void} options.onSignal  called just before the signal
 * @param {number} options.withinMs
 * @param {AbortSignal} options.signal
 * @returns {Promise<StopFacts>}
 * @throws {Error} when so many records do not come in time
 */
export async function stopInTheMiddle ({ stop, program, url, before, onSignal, withinMs, signal }) {
  const stats = await waitUntil(async () => {
    signal.throwIfAborted()
    const now = await readStats(url)
    return now.writes - before.writes >= stop.after_requests ? now : null
  }, withinMs, EVERY_MS)
  if (!stats) throw new Error(`the service did not count ${stop.after_requests} records: it was not stopped`)
  onSignal()
  const beganMs = performance.now()
  process.kill(program.pid, stop.signal)
  const exitCode = await program.exited
  const tookMs = Math.round(performance.now() - beganMs)
  const { backlog: { records: waiting } } = stats
  return { ...stop, waiting, stats, took_ms: tookMs, exit_code: exitCode }
}
