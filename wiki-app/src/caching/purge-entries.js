import mongoose from 'mongoose'
import { purgeKeysOf } from './invalidation.js'

/**
 * @typedef {object} Entry  what an edit made stale, until the caches are purged twice
 * @property {mongoose.Types.ObjectId} _id
 * @property {boolean} everything
 * @property {string[]} urls
 * @property {string[]} [tags]  absent in entries of an earlier version
 * @property {boolean} again  purged once already
 * @property {Date} due_at  while an entry is claimed: the end of the claim
 * @property {mongoose.Types.ObjectId | null} [claim]  the queue that purges it now
 * @property {string} [api]  of which caches; absent where the wiki purges by one API
 */
const schema = new mongoose.Schema({
  everything: Boolean,
  urls: [String],
  tags: [String],
  again: Boolean,
  due_at: Date,
  claim: mongoose.Schema.Types.ObjectId,
  api: String
}, { collection: 'purges', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ due_at: 1 })

/**
 * The entries of a dead process are due again when its claim ends.
 * @param {mongoose.Connection} connection
 * @param {{leaseMs: number, repeatAfterMs: number, target?: import('./purge-queues.js').Target}} options
 */
export function createPurgeEntries (connection, { leaseMs, repeatAfterMs, target }) {
  const Entries = /** @type {mongoose.Model<Entry>} */ (/** @type {unknown} */ (connection.model('Purge', schema)))
  const claim = new mongoose.Types.ObjectId()
  const api = target && { api: target.api }
  /** @returns {mongoose.QueryFilter<Entry>} */
  function own () {
    if (target === undefined) return {}
    // Also entries of no queue: a wiki with other settings wrote them.
    return target.others === null ? { api: target.api } : { api: mongoose.trusted({ $nin: target.others }) }
  }

  const inMs = (/** @type {number} */ ms) => new Date(Date.now() + ms)
  /** @param {Pick<Entry, '_id'>[]} entries */
  const withIds = (entries) => ({ _id: mongoose.trusted({ $in: entries.map(({ _id }) => _id) }) })
  // Twice the longest delay, as hosts' clocks differ; a later date comes from a clock that was wrong.
  const aheadMs = 2 * Math.max(leaseMs, repeatAfterMs)
  const due = () => ({
    $or: [{ due_at: mongoose.trusted({ $lte: new Date() }) }, { due_at: mongoose.trusted({ $gt: inMs(aheadMs) }) }]
  })

  return {
    /** @param {import('./invalidation.js').Stale[]} stales @param {mongoose.ClientSession} session */
    async add (stales, session) {
      const entries = stales.map((stale) =>
        ({ urls: [], tags: [], ...stale, ...api, again: false, due_at: new Date() }))
      await Entries.insertMany(entries, { session, lean: true })
    },

    /** @param {number} max @returns {Promise<Entry[]>} */
    async claim (max) {
      /** @type {Pick<Entry, '_id'>[]} */
      const found = await Entries.find({ $and: [own(), due()] }, { _id: 1 })
        .sort({ due_at: 1 }).limit(max).lean().exec()
      if (found.length === 0) return []
      // An update takes no limit. What another queue has claimed meanwhile is no longer due.
      await Entries.updateMany({ $and: [withIds(found), due()] }, { claim, due_at: inMs(leaseMs) }).exec()
      return Entries.find({ ...withIds(found), claim }).lean().exec()
    },

    /** @param {Entry[]} entries  those that another queue has claimed meanwhile are left to it */
    async markPurged (entries) {
      const [twice, once] = [entries.filter(({ again }) => again), entries.filter(({ again }) => !again)]
      if (twice.length > 0) await Entries.deleteMany({ ...withIds(twice), claim }).exec()
      if (once.length === 0) return
      const next = { claim: null, again: true, due_at: inMs(repeatAfterMs) }
      await Entries.updateMany({ ...withIds(once), claim }, next).exec()
    },

    /** @param {string[]} names @returns {Promise<boolean>} whether a purge is confirmed for each edit of these pages */
    async isPurged (names) {
      const { urls, tags } = purgeKeysOf(names)
      const keys = [{ urls: mongoose.trusted({ $in: urls }) }, { tags: mongoose.trusted({ $in: tags }) }]
      return await Entries.exists({ again: false, ...own(), $or: [{ everything: true }, ...keys] }).exec() === null
    },

    /** @param {Entry[]} entries @param {number} ms */
    async postpone (entries, ms) {
      const dueAt = inMs(Math.min(ms, leaseMs))
      await Entries.updateMany({ ...withIds(entries), claim }, { claim: null, due_at: dueAt }).exec()
    },

    /**
     * Adds no purge of everything when one is queued.
     * @param {Pick<Entry, '_id'>[]} entries @param {number} ms  until it is due
     */
    async replaceByEverything (entries, ms) {
      // First: a crash in between leaves one entry too many.
      const { _id } = await Entries.findOneAndUpdate(
        { everything: true, again: false, claim: null, ...api },
        { $setOnInsert: { urls: [], tags: [], due_at: inMs(Math.min(ms, leaseMs)) } },
        { upsert: true, returnDocument: 'after', lean: true, setDefaultsOnInsert: false }
      ).exec()
      await Entries.deleteMany(withIds(entries.filter((entry) => !entry._id.equals(_id)))).exec()
    },

    /**
     * @param {number} max  of entries
     * @returns {Promise<Pick<Entry, '_id'>[]>} all entries when there are more, else none
     */
    async allIfMoreThan (max) {
      const count = target === undefined
        ? await Entries.estimatedDocumentCount().exec()
        : await Entries.countDocuments(own(), { limit: max + 1 }).exec()
      return count > max ? Entries.find(own(), { _id: 1 }).lean().exec() : []
    }
  }
}
