import DataLoader from 'dataloader'

/**
 * A read costs mostly its round trip: the calls of one turn share one. No data is from before the call.
 * @template Value
 * @param {object} options
 * @param {(keys: string[]) => Promise<Map<string, Value>>} options.readMany  omits keys that do not exist
 * @param {number} options.keysMax  in one read; more are read in parallel
 * @returns {(key: string) => Promise<Value | null>} callers of the same key in the same turn get the same object
 */
export function createBatchLoader ({ readMany, keysMax }) {
  /** @type {(keys: readonly string[]) => Promise<(Value | null)[]>} */
  const readAll = async (keys) => {
    // The cache only joins equal keys of one turn.
    loader.clearAll()
    const found = await readMany([...keys])
    return keys.map((key) => found.get(key) ?? null)
  }
  const loader = new DataLoader(readAll, { batchScheduleFn: setImmediate, maxBatchSize: keysMax })
  return (key) => loader.load(key)
}
