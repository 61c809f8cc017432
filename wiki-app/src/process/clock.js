import { uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of /proc/uptime, which node:os reads. https://man7.org/linux/man-pages/man5/proc_uptime.5.html */
export const UPTIME_STEP_MS = 10

/** What a simulation replaces. @typedef {typeof realClock} Clock */
export const realClock = Object.freeze({
  /** Milliseconds of a clock that nobody sets. */
  now: () => performance.now(),
  /** Milliseconds since the machine started, those in which it slept included, in steps of `UPTIME_STEP_MS`. */
  uptime: () => 1000 * uptime(),
  /** Milliseconds of the time of day, which an administrator or a time server may set. */
  wall: () => Date.now(),
  /** @param {number} ms @param {AbortSignal} [signal]  ends it early @returns {Promise<void>} never rejects */
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }).then(() => {}, () => {}),
  /** @param {number} ms @param {() => void} end @returns {() => void} takes it back */
  after (ms, end) {
    const timer = setTimeout(end, ms)
    return () => clearTimeout(timer)
  }
})
