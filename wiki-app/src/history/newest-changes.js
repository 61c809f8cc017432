import mongoose from 'mongoose'
import { ITEM_FIELDS, named } from './history.js'

/** @import {Histories} from '../pages/histories.js' */
/** @import {Models, Revision} from '../pages/model.js' */
/** @import {RevisionItem} from './history.js' */

/**
 * The database merges so many indexed lists and reads no more changes than are asked for; of more names it would read
 * all changes and sort them.
 * https://www.mongodb.com/docs/manual/tutorial/sort-results-with-indexes/#sort-and-non-prefix-subset-of-an-index
 */
const NAMES_AT_ONCE = 100
/** One reader leaves the database's connections to the others. */
const READS_AT_ONCE = 4

/**
 * The newest changes that any of some filters finds.
 * @param {Pick<Models, 'Revisions'>} models @param {Histories} histories
 */
export const createNewestChanges = ({ Revisions }, histories) =>
  /**
   * @param {object[]} filters
   * @param {{before?: string, from?: string, limit: number, query?: import('mongoose').QueryOptions}} options
   *   `before`: id of the last change seen; `from`: the first that counts
   * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first, each once
   */
  async function newestChanges (filters, { before, from, limit, query = {} }) {
    const ids = { ...before && { $lt: idOf(before) }, ...from && { $gte: idOf(from) } }
    const range = Object.keys(ids).length === 0 ? {} : { _id: mongoose.trusted(ids) }
    /** @type {Revision[][]} */
    const lists = []
    for (let first = 0; first < filters.length; first += READS_AT_ONCE) {
      lists.push(...await Promise.all(filters.slice(first, first + READS_AT_ONCE).map((filter) => Revisions
        .find({ ...filter, ...range }, ITEM_FIELDS, query).sort({ _id: -1 }).limit(limit + 1).lean().exec())))
    }
    const found = [...new Map(lists.flat().map((item) => [String(item._id), item])).entries()]
      .sort(([a], [b]) => a < b ? 1 : -1)
      .map(([, item]) => item)
    return { items: await named(found.slice(0, limit), histories), more: found.length > limit }
  }

const idOf = (/** @type {string} */ id) => new mongoose.Types.ObjectId(id)

/** Filters. @param {'page' | 'author'} field @param {string[]} names */
export function inGroups (field, names) {
  return Array.from({ length: Math.ceil(names.length / NAMES_AT_ONCE) }, (_, group) =>
    ({ [field]: mongoose.trusted({ $in: names.slice(group * NAMES_AT_ONCE, (group + 1) * NAMES_AT_ONCE) }) }))
}
