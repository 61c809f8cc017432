/**
 * No Set: it would often replace its table, and each old table refers to the next until V8 collects old objects, so
 * requests would stay in memory for seconds.
 * https://github.com/v8/v8/blob/main/src/objects/ordered-hash-table.h (NextTable)
 * @template Item  its `index` is written here
 */
export function createInFlight () {
  /** @type {(Item & {index?: number})[]} */
  const items = []
  return {
    get size () { return items.length },

    /** @param {Item & {index?: number}} item */
    add (item) {
      item.index = items.length
      items.push(item)
    },

    /** @param {Item & {index?: number}} item @returns {boolean} whether it was there */
    remove (item) {
      const index = Number(item.index)
      if (items[index] !== item) return false
      const last = /** @type {Item & {index?: number}} */ (items.pop())
      if (last === item) return true
      items[index] = last
      last.index = index
      return true
    },

    /** @returns {Item[]} the current items, in no order */
    all: () => [...items]
  }
}

/** @template Item @typedef {ReturnType<typeof createInFlight<Item>>} InFlight */
