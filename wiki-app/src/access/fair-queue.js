/**
 * @typedef {object} Waiting
 * @property {() => Promise<void>} run
 * @property {() => void} refuse
 */

/**
 * Lets costly work be done one piece at a time. Keys take turns, so many pieces of one key delay another key by one.
 * @param {object} limits
 * @param {number} limits.waitingMax  of each of the two lines
 * @param {number} limits.waitingPerKeyMax
 */
export function createFairQueue ({ waitingMax, waitingPerKeyMax }) {
  const lines = { first: createLine(waitingMax, waitingPerKeyMax), others: createLine(waitingMax, waitingPerKeyMax) }
  let working = false

  async function work () {
    working = true
    for (;;) {
      const next = lines.first.take() ?? lines.others.take()
      if (next === undefined) break
      await next.run()
    }
    working = false
  }

  /**
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} piece
   * @param {object} options
   * @param {boolean} options.first  before all that are not
   * @param {() => Error} options.refusal  of a piece that finds no place, or loses it
   * @returns {Promise<T>}
   */
  return function inTurn (key, piece, { first, refusal }) {
    return new Promise((resolve, reject) => {
      lines[first ? 'first' : 'others'].add(key, {
        run: () => piece().then(resolve, reject),
        refuse: () => reject(refusal())
      })
      if (!working) work()
    })
  }
}

/**
 * @param {number} waitingMax
 * @param {number} waitingPerKeyMax
 */
function createLine (waitingMax, waitingPerKeyMax) {
  /** Those that wait, by key; keys in the order of their turns. @type {Map<string, Waiting[]>} */
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
     * A full line drops the newest piece of the key that has the most, to make room for a key that has fewer.
     * @param {string} key
     * @param {Waiting} waiting
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

    /** @returns {Waiting | undefined} the oldest of the next key */
    take () {
      const [key] = byKey.keys()
      if (key === undefined) return undefined
      const taken = remove(key, 'shift')
      // Its next turn comes after those of all others.
      const left = byKey.get(key)
      if (left !== undefined) {
        byKey.delete(key)
        byKey.set(key, left)
      }
      return taken
    }
  }
}
