/**
 * Collects items until there are `max`, or until `waitMs` after the first.
 * @template T
 * @param {{max: number, waitMs: number, onBatch: (items: T[]) => void}} options
 */
export function createCollector ({ max, waitMs, onBatch }) {
  /** @type {T[]} */
  let items = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let hurried = false
  let batches = 0

  function flush () {
    clearTimeout(timer)
    timer = undefined
    const batch = items
    items = []
    if (batch.length === 0) return
    batches++
    onBatch(batch)
  }

  return {
    /** @param {T} item */
    add (item) {
      items.push(item)
      if (items.length >= max || hurried) flush()
      else timer ??= setTimeout(flush, waitMs)
    },

    batches: () => batches,

    /** From now on nothing waits for others. */
    hurry () {
      hurried = true
      flush()
    }
  }
}
