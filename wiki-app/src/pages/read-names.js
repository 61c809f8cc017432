import { randomBytes, randomInt } from 'node:crypto'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { kindOf } from './head.js'
import { searchKey } from './search-key.js'
import { isAmongTalk } from './talk.js'

const { Long, MaxKey, MinKey } = mongoose.mongo

const SIMILAR_MAX = 5
/** Small documents, of some 60 bytes. */
const DRAWN_FROM = 32
/** Among talk pages alone, which are left out, the draw is repeated. */
const DRAWS_MAX = 10

/** @param {Pick<import('./model.js').Models, 'Pages' | 'Targets'>} models */
export const createNameReads = ({ Pages, Targets }) => ({
  /** @param {string} name @returns {Promise<import('./model.js').Target['is']>} what exists under the name */
  async findKind (name) {
    const fields = { revision: 1, deleted_at: 1, redirect_to: 1 }
    return kindOf(await Pages.findOne({ _id: name }, fields).lean().exec())
  },

  /**
   * Of pages whose names differ only in case, accents, leading zeros, and spaces or underscores.
   * @param {string} name @returns {Promise<string[]>} at most 5
   */
  async findSimilar (name) {
    /** @type {{_id: string}[]} */
    const pages = await Pages
      .find({ deleted_at: null, search_key: searchKey(name) }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(SIMILAR_MAX)
      .lean()
      .exec()
    return pages.map(({ _id }) => _id)
  },

  /**
   * Drawn from the 32 pages whose names have the next hashes after a random point, on a circle of all hashes. With up
   * to 32 pages each is equally likely. With more, a page's chance is the mean of 32 gaps between hashes: for 19 of 20
   * pages between 0.7 and 1.4 times that of an even draw. On a sharded cluster it is less even: the shards' answers are
   * not merged in the order of hashes. Talk pages are left out.
   * @returns {Promise<string | null>} name of an existing page; null: there is none
   */
  async findRandom () {
    for (let draws = 0; draws < DRAWS_MAX; draws++) {
      const point = Long.fromBigInt(randomBytes(8).readBigInt64LE())
      const found = await pagesByHash(Targets, { from: point, to: new MaxKey(), limit: DRAWN_FROM })
      const rest = DRAWN_FROM - found.length
      if (rest > 0) found.push(...await pagesByHash(Targets, { from: new MinKey(), to: point, limit: rest }))
      const pages = found.filter((name) => !isAmongTalk(name))
      if (pages.length > 0) return pages[randomInt(pages.length)]
      if (found.length < DRAWN_FROM) break
    }
    return null
  }
})

/**
 * The limits are values of the index as they are: a filter knows hashed indexes for equal values only.
 * @param {import('./model.js').Models['Targets']} Targets
 * @param {{from: unknown, to: unknown, limit: number}} range  without `to`
 * @returns {Promise<string[]>} names of existing pages
 */
async function pagesByHash (Targets, { from, to, limit }) {
  const found = await driverOf(Targets)
    .find({}, { projection: { _id: 1 }, limit, batchSize: limit })
    .hint('by_hash')
    .min({ is: 'page', _id: from })
    .max({ is: 'page', _id: to })
    .toArray()
  return found.map(({ _id }) => _id)
}
