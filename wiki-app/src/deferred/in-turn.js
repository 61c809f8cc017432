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
