/**
 * Collects records into batches: one is complete at `max` records, or `ms` after its first. With `ms` 0 it is complete
 * when the loop of events has no more requests at hand and no other batch is being inserted.
 * @template Item
 * @param {object} options
 * @param {number} options.max
 * @param {number} options.ms
 * @param {(batch: Item[]) => Promise<void>} options.insert  one at a time
 */
export function createCollector ({ max, ms, insert }) {
  /** @type {Item[]} */
  let gathering = []
  /** Complete, in order. @type {Item[][]} */
  const ready = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let inserting = false

  function complete () {
    clearTimeout(timer)
    timer = undefined
    if (gathering.length > 0) ready.push(gathering)
    gathering = []
    insertAll()
  }

  async function insertAll () {
    if (inserting) return
    inserting = true
    for (let batch = ready.shift(); batch !== undefined; batch = nextBatch()) await insert(batch)
    inserting = false
  }

  function nextBatch () {
    if (ready.length === 0 && ms === 0 && gathering.length > 0) {
      ready.push(gathering)
      gathering = []
    }
    return ready.shift()
  }

  return {
    /** @param {Item} item */
    add (item) {
      gathering.push(item)
      if (gathering.length >= max) complete()
      else if (ms > 0) timer ??= setTimeout(complete, ms)
      else if (gathering.length === 1 && !inserting) setImmediate(complete)
    },
    /** Completes the batch that is being gathered. */
    flush: complete
  }
}
