/** @import {Models} from '../pages/model.js' */

/** Some 150 bytes each. Of more pages, those that were renamed in their wiki come in again under the new name. */
const KNOWN_MAX = 1_000_000
const HASH_CHARS = 12

/**
 * Histories by the beginning of their revisions' `save_id`, as they are when somebody first asks. Revisions have no
 * index by `save_id` alone: it would cost each save something, and only an import needs it, once.
 * @param {Models['Revisions']} Revisions @param {string} kind  of the other wiki
 */
export function createMovedHistories (Revisions, kind) {
  /** @type {Promise<Map<string, string>> | null} */
  let reading = null

  async function read () {
    const known = new Map()
    const found = Revisions.collection.aggregate([
      { $match: { save_id: { $gte: `${kind}:`, $lt: `${kind};` } } },
      { $group: { _id: { page: '$page', key: { $substrBytes: ['$save_id', 0, kind.length + HASH_CHARS + 2] } } } },
      { $limit: KNOWN_MAX }
    ], { hint: { page: 1, save_id: 1 }, allowDiskUse: true })
    for await (const { _id: { page, key } } of found) known.set(key, page)
    return known
  }

  return {
    /** @param {string} prefix @returns {Promise<string | null>} key of the history */
    async with (prefix) {
      reading ??= read()
      return (await reading).get(prefix) ?? null
    }
  }
}
