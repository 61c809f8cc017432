/** What is supposed at first, and counts as much as one second that was measured: a few slow saves do not say much. */
const SUPPOSED_PER_S = 60
/** What is measured counts half after so much more of it. */
const HALF_MS = 8_000

/**
 * Measures how many saves are stored in a second, in the time in which any is being stored.
 * @param {() => number} [nowMs]
 */
export function createPace (nowMs = () => performance.now()) {
  let running = 0
  let since = 0
  let busyMs = 0
  let stored = 0

  function count () {
    const now = nowMs()
    if (running > 0) busyMs += now - since
    since = now
    if (busyMs < HALF_MS) return
    busyMs /= 2
    stored /= 2
  }

  return {
    begin () {
      count()
      running++
    },

    /** Of a save that has begun. */
    end () {
      count()
      running--
      stored++
    },

    perSecond: () => (stored + SUPPOSED_PER_S) / (busyMs / 1_000 + 1)
  }
}

/** @typedef {ReturnType<typeof createPace>} Pace */
