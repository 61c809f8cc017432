/**
 * Batches the reads of one turn of the event loop, because the cost of a read is mostly the round trip to the database.
 * A caller never gets data from before its call: the read starts after the last call of the turn.
 * @template Value
 * @param {object} options
 * @param {(keys: string[]) => Promise<Map<string, Value>>} options.readMany  omits keys that do not exist
 * @param {number} options.keysMax  in one read; more are read in parallel
 * @returns {(key: string) => Promise<Value | null>} callers of the same key in the same turn get the same object
 */
export function createBatchLoader ({ readMany, keysMax }) {
  /** @type {Map<string, Waiter<Value>[]>} */
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
    const each = (/** @type {(waiter: Waiter<Value>, key: string) => void} */ tell) => {
      for (const key of keys) for (const waiter of /** @type {Waiter<Value>[]} */ (asked.get(key))) tell(waiter, key)
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

/**
 * @template Value
 * @typedef {{resolve: (value: Value | null) => void, reject: (error: unknown) => void}} Waiter
 */
