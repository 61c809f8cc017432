/**
 * @param {number} max  of works at once; the others wait, the first come first
 * @returns {{run: <T>(work: () => Promise<T>) => Promise<T>, waiting: () => number}}
 */
export function createLimit (max) {
  let running = 0
  /** @type {(() => void)[]} */
  const waiting = []
  return {
    waiting: () => waiting.length,

    async run (work) {
      if (running < max) running++
      else await new Promise((resolve) => waiting.push(() => resolve(undefined)))
      try {
        return await work()
      } finally {
        // The slot passes on to the next.
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    }
  }
}
