import { startSleeper } from './held-up.js'
import { readMachine } from './reading.js'

/** Until then readings are more frequent: a short trial needs some, and the generator's own start is left out. */
const BEGIN_MS = 2_000
const BEGIN_INTERVAL_MS = 250
const INTERVAL_MS = 1_000
/** Readings of a day; the watch ends then. */
const READINGS_MAX = 86_400

/** @typedef {import('./reading.js').Reading} Reading */

/**
 * Watches who uses the machine's processors: reads it at once, then once a second, more often in the beginning.
 * @param {() => import('./reading.js').WatchedProcess[]} processesNow  called for each reading: a trial may start and
 *   kill processes
 * @returns {{stop: () => Reading[]}} `stop` reads for the last time and returns all readings; [] without /proc
 */
export function watchMachine (processesNow) {
  const sleeper = startSleeper()
  const startedMs = performance.now()
  /** @type {Reading[]} */
  const readings = []
  /** @type {NodeJS.Timeout} */
  let timer
  const read = () => {
    const reading = readMachine(processesNow(), sleeper.heldUpS())
    if (reading !== null) readings.push(reading)
  }
  const readOn = () => {
    read()
    if (readings.length === 0 || readings.length >= READINGS_MAX) return
    timer = setTimeout(readOn, performance.now() - startedMs < BEGIN_MS ? BEGIN_INTERVAL_MS : INTERVAL_MS)
  }
  readOn()
  return {
    stop () {
      clearTimeout(timer)
      read()
      sleeper.stop()
      return readings
    }
  }
}
