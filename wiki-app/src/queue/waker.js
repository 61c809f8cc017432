import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Pauses of a loop that looks at intervals, and at once after this process has added something.
 * @param {{signal: AbortSignal, gatherMs: number}} options  `gatherMs`: what is added within this time is one batch
 */
export function createWaker ({ signal, gatherMs }) {
  let wake = () => {}
  let woken = false

  function wakeUp () {
    woken = true
    wake()
  }

  /** @param {number} ms */
  function wakeUpIn (ms) { setTimeout(wakeUp, ms).unref() }

  /** @param {number} ms */
  const pause = (ms) => sleep(ms, undefined, { signal, ref: false }).catch(() => {})

  /** @param {number} ms  at most */
  async function idle (ms) {
    if (!woken) {
      const waking = new AbortController()
      wake = () => waking.abort()
      const ends = AbortSignal.any([signal, waking.signal])
      await sleep(ms, undefined, { signal: ends, ref: false }).catch(() => {})
    }
    const gather = woken
    woken = false
    if (gather) await pause(gatherMs)
  }

  return { wakeUp, wakeUpIn, pause, idle }
}
