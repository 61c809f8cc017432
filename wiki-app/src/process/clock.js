import { setTimeout as sleep } from 'node:timers/promises'

/** What a simulation replaces. @typedef {typeof realClock} Clock */
export const realClock = Object.freeze({
  /** Milliseconds of a clock that nobody sets. */
  now: () => performance.now(),
  /** Milliseconds of the time of day, which goes on while the machine sleeps. */
  wall: () => Date.now(),
  /** @param {number} ms @param {AbortSignal} signal  ends it early @returns {Promise<void>} never rejects */
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }).then(() => {}, () => {}),
  /** @param {number} ms @param {() => void} end @returns {() => void} takes it back */
  after (ms, end) {
    const timer = setTimeout(end, ms)
    return () => clearTimeout(timer)
  }
})
