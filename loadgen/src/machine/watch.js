import { startSleeper } from './held-up.js'
import { readMachine } from './reading.js'

/**
 * Time between readings, until a time. They are more frequent in the beginning: a short trial needs some, which also
 * see the generator, and the generator's own start can be left out. A reading takes 2 ms.
 */
const INTERVALS = [
  { untilMs: 500, intervalMs: 100 }, { untilMs: 2_000, intervalMs: 250 }, { untilMs: Infinity, intervalMs: 1_000 }
]
/** Readings of a day; the watch ends then. */
const READINGS_MAX = 86_400

/** @typedef {import('./reading.js').Reading} Reading */

/**
 * Watches who uses the machine's processors: reads it at once, then once a second, and more often in the beginning.
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
    const elapsedMs = performance.now() - startedMs
    timer = setTimeout(readOn, INTERVALS.find(({ untilMs }) => elapsedMs < untilMs)?.intervalMs)
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
