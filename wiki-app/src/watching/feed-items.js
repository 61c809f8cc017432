import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { ITEM_FIELDS, named } from '../history/history.js'
import { createHistories } from '../pages/histories.js'

/** @import {ClientSession, Types} from 'mongoose' */
/** @import {Models} from '../pages/model.js' */
/** @import {RevisionItem} from '../history/history.js' */

/** A person has so many, and some 1000 more: a write of `STEP` items trims the list of one person. */
const ITEMS_MAX = 1_000
/** So many items are written at a time. */
export const STEP = 1_000
const AGE_MAX_S = 90 * 86_400
const DUPLICATE_KEY = 11_000

/**
 * One change in the list of one person. The id makes it the only one, and is the index by watcher and time.
 * @typedef {{_id: {watcher: string, revision: Types.ObjectId}, at: Date}} FeedItem
 */

const schema = new mongoose.Schema({
  _id: mongoose.Schema.Types.Mixed, at: Date
}, { collection: 'feed_items', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ at: 1 }, { expireAfterSeconds: AGE_MAX_S })

/** @param {import('mongoose').Connection} connection */
const defineFeedItems = (connection) => /** @type {import('mongoose').Model<FeedItem>} */ (
  /** @type {unknown} */ (connection.model('FeedItem', schema)))

/** @param {string} watcher @param {{before?: string, from?: string}} [range]  ids of revisions */
export const feedOf = (watcher, { before, from } = {}) => {
  const { MaxKey, MinKey, ObjectId } = mongoose.mongo
  const begin = from === undefined ? new MinKey() : new ObjectId(from)
  const end = before === undefined ? new MaxKey() : new ObjectId(before)
  return { _id: /** @type {any} */ ({ $gte: { watcher, revision: begin }, $lt: { watcher, revision: end } }) }
}

/**
 * The lists of changes that are written beforehand, for each watcher (docs/decisions/0063).
 * @param {{connection: import('mongoose').Connection, models: Pick<Models, 'Revisions' | 'Pages'>}} parts
 */
export function createFeedItems ({ connection, models }) {
  const { Revisions } = models
  const histories = createHistories(models)
  const items = driverOf(defineFeedItems(connection))

  /**
   * Each person is the one of his step with the same chance, so nobody's list grows much beyond `ITEMS_MAX`.
   * @param {string[]} watchers
   */
  async function trimOne (watchers) {
    const watcher = watchers[Math.floor(Math.random() * watchers.length)]
    const [first] = await items.find(feedOf(watcher), { sort: { _id: -1 }, skip: ITEMS_MAX, limit: 1 }).toArray()
    if (first === undefined) return
    const { _id: { $gte } } = feedOf(watcher)
    await items.deleteMany({ _id: /** @type {any} */ ({ $gte, $lte: first._id }) })
  }

  return {
    /**
     * Those that are there already stay: a step of the queue may run twice.
     * @param {string[]} watchers  at most STEP @param {Types.ObjectId} revision @param {ClientSession} [session]
     */
    async add (watchers, revision, session) {
      if (watchers.length === 0) return
      const at = new Date()
      const added = watchers.map((watcher) => ({ _id: { watcher, revision }, at }))
      if (session === undefined) await items.insertMany(added, { ordered: false }).catch(unlessThere)
      else await items.insertMany(added, { session })
      // Outside the transaction: two edits that trim the same list would not be committed together.
      await trimOne(watchers)
    },

    /**
     * @param {{_id: string}} watcher @param {{before?: string, from?: string, limit: number}} options  `before`: id of
     *   the last change seen; `from`: the first that counts
     * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first, each once
     */
    async changesOf ({ _id: watcher }, { before, from, limit }) {
      const found = await items
        .find(feedOf(watcher, { before, from }), { sort: { _id: -1 }, limit: limit + 1 })
        .toArray()
      const ids = found.slice(0, limit).map(({ _id: { revision } }) => revision)
      const revisions = await Revisions
        .find({ _id: mongoose.trusted({ $in: ids }) }, ITEM_FIELDS).sort({ _id: -1 }).lean().exec()
      return { items: await named(revisions, histories), more: found.length > limit }
    }
  }
}

/** @param {unknown} error  of an insert that goes on after each failure */
function unlessThere (error) {
  const failed = error instanceof mongoose.mongo.MongoBulkWriteError ? [error.writeErrors].flat() : []
  if (failed.length === 0 || failed.some(({ code }) => code !== DUPLICATE_KEY)) throw error
}

/** @typedef {ReturnType<typeof createFeedItems>} FeedItems */
