const MINUTE_MS = 60_000

/** Evenly spaced, so that a server with a limit of its own never sees a burst. @param {number} perMinute */
export function createPace (perMinute) {
  let freeAtMs = 0
  return {
    /** @returns {number} milliseconds until the next mail may be sent */
    waitMs: () => Math.max(0, freeAtMs - performance.now()),
    take () { freeAtMs = Math.max(freeAtMs, performance.now()) + MINUTE_MS / perMinute }
  }
}
