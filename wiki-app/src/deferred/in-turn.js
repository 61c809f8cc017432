/**
 * Work of one key runs one after the other, in the order in which it came; work of others runs meanwhile.
 * @returns {<T>(key: string, work: () => Promise<T>) => Promise<T>}
 */
export function createInTurn () {
  /** @type {Map<string, Promise<unknown>>} */
  const last = new Map()
  return async function inTurn (key, work) {
    const before = last.get(key)
    const mine = before === undefined ? work() : before.then(work, work)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}

/**
 * @param {number} max  of works at once; the others wait, the first come first
 * @returns {<T>(work: () => Promise<T>) => Promise<T>}
 */
export function createLimit (max) {
  let running = 0
  /** @type {(() => void)[]} */
  const waiting = []
  return async function limited (work) {
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
