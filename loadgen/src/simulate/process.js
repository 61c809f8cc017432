/** @import {Time} from './time.js' */

/** Of /proc/uptime. */
const UPTIME_STEP_MS = 10

/**
 * A process on a machine with a clock of its own. It can be stopped for a while (alone, or with its machine), and
 * killed; what comes meanwhile it sees afterwards.
 * @param {{time: Time, rate: number}} parts  rate: of its clock, about 1
 */
export function startProcess ({ time, rate }) {
  let stoppedUntilMs = 0
  let isAlive = true
  let sleptMs = 0
  let wallOffsetMs = 0

  /** @param {() => void} run */
  function whileRunning (run) {
    if (!isAlive) return
    if (time.now() < stoppedUntilMs) time.after(stoppedUntilMs - time.now(), () => whileRunning(run))
    else run()
  }
  // Node's timers take a millisecond at least.
  const after = (/** @type {number} */ ms, /** @type {() => void} */ end) =>
    time.after(Math.max(1, ms) / rate, () => whileRunning(end))

  return {
    whileRunning,
    clock: {
      now: () => time.now() * rate - sleptMs,
      uptime: () => Math.floor(time.now() * rate / UPTIME_STEP_MS) * UPTIME_STEP_MS,
      /** The time of day. */
      wall: () => time.now() * rate + wallOffsetMs,
      after,
      /** @param {number} ms @param {AbortSignal} [signal]  ends it early @returns {Promise<void>} */
      sleep: (ms, signal) => new Promise((resolve) => {
        const end = () => {
          cancel()
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const cancel = after(ms, end)
        signal?.addEventListener('abort', end)
      })
    },
    /** @template T @param {Promise<T>} promise @returns {Promise<T>} settled when the process runs */
    seen: (promise) => new Promise((resolve, reject) => {
      promise.then((value) => whileRunning(() => resolve(value)), (error) => whileRunning(() => reject(error)))
    }),
    /** @param {number} ms */
    stop (ms) { if (time.now() >= stoppedUntilMs) stoppedUntilMs = time.now() + ms },
    /** The clock that nobody sets stands with the machine. @param {number} ms */
    sleep (ms) {
      if (time.now() < stoppedUntilMs) return
      stoppedUntilMs = time.now() + ms
      time.after(ms, () => { sleptMs += ms * rate })
    },
    /** @param {number} ms */
    setWallClock (ms) { wallOffsetMs += ms },
    kill () { isAlive = false }
  }
}
