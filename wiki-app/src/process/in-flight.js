/**
 * A collection of items that are added and removed with every request. It is no Set, because a Set replaces its table
 * again and again under such load. An outgrown table still refers to its items and to each later table, and lives until
 * V8 collects old objects: requests would stay in memory for seconds, with all their pages.
 * https://github.com/v8/v8/blob/main/src/objects/ordered-hash-table.h (NextTable)
 * @template Item  `place` of it is written here
 */
export function createInFlight () {
  /** @type {(Item & {place?: number})[]} */
  const items = []
  return {
    get size () { return items.length },

    /** @param {Item & {place?: number}} item */
    add (item) {
      item.place = items.length
      items.push(item)
    },

    /**
     * @param {Item & {place?: number}} item
     * @returns {boolean} whether it was there
     */
    remove (item) {
      const place = Number(item.place)
      if (items[place] !== item) return false
      const last = /** @type {Item & {place?: number}} */ (items.pop())
      if (last === item) return true
      items[place] = last
      last.place = place
      return true
    },

    /** @returns {Item[]} the current items, in no order */
    all: () => [...items]
  }
}

/**
 * @template Item
 * @typedef {ReturnType<typeof createInFlight<Item>>} InFlight
 */
