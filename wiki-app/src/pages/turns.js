/**
 * Lets work of one key run one after the other and work of different keys side by side. Within one process this spares
 * writers of the same page from undoing each other's transactions again and again.
 */
export function createTurns () {
  /** The last piece of work of each key that has any. @type {Map<string, Promise<unknown>>} */
  const last = new Map()

  /**
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  return async function inTurn (key, work) {
    const before = last.get(key) ?? Promise.resolve()
    // Whether the one before succeeded is not this one's concern.
    const mine = before.then(work, work)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
