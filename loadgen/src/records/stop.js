import { waitUntil } from '@stevec/harness/processes'
import { readStats } from './service.js'

/**
 * A signal to the record service in the middle of the load.
 * @typedef {{signal: 'SIGTERM' | 'SIGKILL', after_requests: number}} RecordStop
 */

/**
 * @typedef {object} StopFacts
 * @property {'SIGTERM' | 'SIGKILL'} signal
 * @property {number} waiting  records that were accepted and not stored, at the last reading before the signal
 * @property {import('./service.js').Stats} stats  of that reading
 * @property {number} took_ms  until the process had ended
 * @property {number | null} exit_code  null: ended by the signal
 */

const EVERY_MS = 5

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
  return { signal: stop.signal, waiting: stats.backlog.records, stats, took_ms: tookMs, exit_code: exitCode }
}
