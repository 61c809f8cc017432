/** Far longer than an edit takes, on a busy machine, too: only one whose answer was lost holds a turn for so long. */
const TURN_MAX_MS = 5_000

/**
 * Lets work of one key run one after the other and work of different keys side by side. Within one process this spares
 * writers of the same page from undoing each other's transactions again and again. It is no lock: work that hangs is overtaken.
 * @param {{maxMs?: number}} [options]  after which work is overtaken
 */
export function createKeyedMutex ({ maxMs = TURN_MAX_MS } = {}) {
  /** When the last piece of work of each key that has any is over, or overtaken. @type {Map<string, Promise<void>>} */
  const last = new Map()

  /**
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  return async function inTurn (key, work) {
    const before = last.get(key)
    let over = () => {}
    /** @type {Promise<void>} */
    const mine = new Promise((resolve) => { over = resolve })
    last.set(key, mine)
    await before
    const timer = setTimeout(over, maxMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      over()
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
