/**
 * Virtual time: what happens next happens at once. All that waits for it, waits here, so a run depends on nothing but
 * its seed.
 */
export function createTime () {
  let nowMs = 0
  let count = 0
  /** By time, then in the order of the calls. @type {{atMs: number, order: number, run: () => void}[]} */
  const heap = []

  /** @param {number} a @param {number} b */
  const isBefore = (a, b) =>
    heap[a].atMs < heap[b].atMs || (heap[a].atMs === heap[b].atMs && heap[a].order < heap[b].order)
  /** @param {number} a @param {number} b */
  const swap = (a, b) => { [heap[a], heap[b]] = [heap[b], heap[a]] }

  function rise () {
    for (let at = heap.length - 1; at > 0;) {
      const above = (at - 1) >> 1
      if (!isBefore(at, above)) return
      swap(at, above)
      at = above
    }
  }

  function sink () {
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let least = at
      if (left < heap.length && isBefore(left, least)) least = left
      if (right < heap.length && isBefore(right, least)) least = right
      if (least === at) return
      swap(at, least)
      at = least
    }
  }

  /** @param {number} ms @param {() => void} run @returns {() => void} takes it back */
  function after (ms, run) {
    const event = { atMs: nowMs + Math.max(0, ms), order: ++count, run }
    heap.push(event)
    rise()
    return () => { event.run = () => {} }
  }

  return {
    now: () => nowMs,
    after,
    /** @param {number} ms @returns {Promise<void>} */
    sleep: (ms) => new Promise((resolve) => { after(ms, resolve) }),

    /**
     * Runs event after event until one ends it. `settle` waits until nothing is left to do at the present time.
     * @param {() => boolean} isOver @param {() => Promise<void>} settle
     */
    async run (isOver, settle) {
      await settle()
      while (!isOver() && heap.length > 0) {
        const [event] = heap
        const last = /** @type {typeof event} */ (heap.pop())
        if (heap.length > 0) {
          heap[0] = last
          sink()
        }
        nowMs = event.atMs
        event.run()
        await settle()
      }
    }
  }
}

/** @typedef {ReturnType<typeof createTime>} Time */
