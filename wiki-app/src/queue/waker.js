import { realClock } from '../process/clock.js'

/** @import {Clock} from '../process/clock.js' */

/**
 * Pauses of a loop that looks at intervals, and at once after this process has added something.
 * @param {{signal: AbortSignal, gatherMs: number, clock?: Pick<Clock, 'sleep'>}} options  `gatherMs`: what is added
 *   within this time is one batch
 */
export function createWaker ({ signal, gatherMs, clock = realClock }) {
  let wake = () => {}
  let woken = false

  function wakeUp () {
    woken = true
    wake()
  }

  /** @param {number} ms */
  function wakeUpIn (ms) { clock.sleep(ms).then(wakeUp) }

  /** @param {number} ms */
  const pause = (ms) => clock.sleep(ms, signal)

  /** @param {number} ms  at most */
  async function idle (ms) {
    if (!woken) {
      const waking = new AbortController()
      wake = () => waking.abort()
      await clock.sleep(ms, AbortSignal.any([signal, waking.signal]))
    }
    const gather = woken
    woken = false
    if (gather) await pause(gatherMs)
  }

  return { wakeUp, wakeUpIn, pause, idle }
}
