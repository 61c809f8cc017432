/**
 * @template Value
 * @typedef {{resolve: (value: Value | null) => void, reject: (error: unknown) => void}} Waiter
 */

/**
 * A read costs mostly its round trip: the calls of one turn share one. No data is from before the call.
 * @template Value
 * @param {object} options
 * @param {(keys: string[]) => Promise<Map<string, Value>>} options.readMany  omits keys that do not exist
 * @param {number} options.keysMax  in one read; more are read in parallel
 * @param {{db: {name: string}, collection: {name: string}}} options.source  what is read
 * @returns {(key: string) => Promise<Value | null>} callers of the same key in the same turn get the same object
 */
export function createBatchLoader ({ readMany, keysMax }) {
  /** @type {Map<string, Waiter<Value>[]>} */
  let waiting = new Map()

  function readAll () {
    const batch = waiting
    waiting = new Map()
    const keys = [...batch.keys()]
    for (let first = 0; first < keys.length; first += keysMax) read(keys.slice(first, first + keysMax), batch)
  }

  /** @param {string[]} keys @param {Map<string, Waiter<Value>[]>} batch */
  async function read (keys, batch) {
    const settle = (/** @type {(waiter: Waiter<Value>, key: string) => void} */ each) => {
      for (const key of keys) for (const waiter of /** @type {Waiter<Value>[]} */ (batch.get(key))) each(waiter, key)
    }
    try {
      const found = await readMany(keys)
      settle((waiter, key) => waiter.resolve(found.get(key) ?? null))
    } catch (error) {
      settle((waiter) => waiter.reject(error))
    }
  }

  return (key) => new Promise((resolve, reject) => {
    if (waiting.size === 0) setImmediate(readAll)
    const waiters = waiting.get(key)
    if (waiters === undefined) waiting.set(key, [{ resolve, reject }])
    else waiters.push({ resolve, reject })
  })
}
