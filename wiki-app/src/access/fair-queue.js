/** @typedef {{run: () => Promise<void>, refuse: () => void}} Waiting */

/**
 * Keys take turns, so many tasks of one key delay another key by one task only.
 * @param {{waitingMax: number, waitingPerKeyMax: number}} limits  `waitingMax`: in each of the two queues
 */
export function createFairQueue ({ waitingMax, waitingPerKeyMax }) {
  const create = () => createKeyedQueue(waitingMax, waitingPerKeyMax)
  const queues = { first: create(), others: create() }
  let running = false

  async function runAll () {
    running = true
    for (;;) {
      const next = queues.first.take() ?? queues.others.take()
      if (next === undefined) break
      await next.run()
    }
    running = false
  }

  /**
   * @template T @param {string} key @param {() => Promise<T>} task
   * @param {{first: boolean, refusal: () => Error}} options  `first`: before the others
   * @returns {Promise<T>}
   */
  return function enqueue (key, task, { first, refusal }) {
    return new Promise((resolve, reject) => {
      queues[first ? 'first' : 'others'].add(key, {
        run: () => task().then(resolve, reject),
        refuse: () => reject(refusal())
      })
      if (!running) runAll()
    })
  }
}

/** @param {number} waitingMax @param {number} waitingPerKeyMax */
function createKeyedQueue (waitingMax, waitingPerKeyMax) {
  /** By key, in the order of their turns. @type {Map<string, Waiting[]>} */
  const byKey = new Map()
  let count = 0

  /** @param {string} key @param {'pop' | 'shift'} end */
  function remove (key, end) {
    const own = /** @type {Waiting[]} */ (byKey.get(key))
    const removed = /** @type {Waiting} */ (own[end]())
    count--
    if (own.length === 0) byKey.delete(key)
    return removed
  }

  return {
    /**
     * A full queue drops the newest task of the key with most, for a key with fewer.
     * @param {string} key @param {Waiting} waiting
     */
    add (key, waiting) {
      const own = byKey.get(key) ?? []
      if (own.length >= waitingPerKeyMax) return waiting.refuse()
      if (count >= waitingMax) {
        const [longest, { length }] = [...byKey].reduce((a, b) => b[1].length > a[1].length ? b : a)
        if (length <= own.length + 1) return waiting.refuse()
        remove(longest, 'pop').refuse()
      }
      own.push(waiting)
      byKey.set(key, own)
      count++
    },

    /** @returns {Waiting | undefined} the oldest task of the next key */
    take () {
      const [key] = byKey.keys()
      if (key === undefined) return undefined
      const taken = remove(key, 'shift')
      const left = byKey.get(key)
      if (left !== undefined) {
        byKey.delete(key)
        byKey.set(key, left)
      }
      return taken
    }
  }
}
