/**
 * Makes one read of many keys out of the reads that one turn of the event loop asks for: what a read costs is mostly its way to the database and back.
 * Nobody is answered with what was true before they asked, because the read begins only after the last of them has.
 * @template Value
 * @param {object} options
 * @param {(keys: string[]) => Promise<Map<string, Value>>} options.readMany  without entries for what is not there
 * @param {number} options.keysMax  in one read; more are read side by side
 * @returns {(key: string) => Promise<Value | null>} those who ask for the same key in the same turn get the same object
 */
export function createBatchLoader ({ readMany, keysMax }) {
  /** @type {Map<string, {resolve: (value: Value | null) => void, reject: (error: unknown) => void}[]>} */
  let waiting = new Map()

  function readAll () {
    const asked = waiting
    waiting = new Map()
    const keys = [...asked.keys()]
    for (let first = 0; first < keys.length; first += keysMax) read(keys.slice(first, first + keysMax), asked)
  }

  /**
   * @param {string[]} keys
   * @param {typeof waiting} asked
   */
  async function read (keys, asked) {
    const each = (/** @type {(waiter: {resolve: (value: Value | null) => void, reject: (error: unknown) => void}, key: string) => void} */ tell) => {
      for (const key of keys) for (const waiter of /** @type {NonNullable<ReturnType<typeof asked.get>>} */ (asked.get(key))) tell(waiter, key)
    }
    try {
      const found = await readMany(keys)
      each((waiter, key) => waiter.resolve(found.get(key) ?? null))
    } catch (error) {
      each((waiter) => waiter.reject(error))
    }
  }

  return (key) => new Promise((resolve, reject) => {
    if (waiting.size === 0) setImmediate(readAll)
    const waiters = waiting.get(key)
    if (waiters === undefined) waiting.set(key, [{ resolve, reject }])
    else waiters.push({ resolve, reject })
  })
}
