/**
 * What comes and goes with every request. Not a Set: the tables that a Set has outgrown by so much coming and going hold on to what was in them, and,
 * being older, to each later table and to all that it held, until V8 collects old objects; requests are then kept with all their pages for seconds.
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

    /** @returns {Item[]} those that are there now, in no order */
    all: () => [...items]
  }
}

/**
 * @template Item
 * @typedef {ReturnType<typeof createInFlight<Item>>} InFlight
 */
