/** Far longer than an edit takes, also on a busy machine: only work whose response was lost runs for so long. */
const TURN_MAX_MS = 5_000

/**
 * Serialises work of the same key; work of different keys runs in parallel. Within one process this keeps writers of
 * the same page from aborting each other's transactions again and again. It is no lock: after `maxMs` the next work
 * starts although the previous one still runs.
 * @param {{maxMs?: number}} [options]
 */
export function createKeyedMutex ({ maxMs = TURN_MAX_MS } = {}) {
  /**
   * By key: resolves when the newest work is over, or overtaken.
   * @type {Map<string, Promise<void>>}
   */
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
