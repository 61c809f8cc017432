import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'

/** @import {ClientSession, Types} from 'mongoose' */

/**
 * What has to be done after an edit, written in its transaction.
 * @typedef {object} Entry
 * @property {import('mongoose').Types.ObjectId} _id
 * @property {string} kind  which work it is, see worker.js
 * @property {string} name  of a page
 * @property {string} done_up_to  '' at first; how far a long work has come
 * @property {Date} due_at  while an entry is claimed: the end of the claim
 * @property {import('mongoose').Types.ObjectId | null} claim  the process that works on it
 * @property {number} failures  one after the other
 * @property {string} [problem]  the last failure
 * @property {Date} [set_aside_at]  it failed too often; nobody tries again
 */

const schema = new mongoose.Schema({
  kind: String,
  name: String,
  done_up_to: String,
  due_at: Date,
  claim: mongoose.Schema.Types.ObjectId,
  failures: Number,
  problem: String,
  set_aside_at: Date
}, { collection: 'queue', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ set_aside_at: 1, due_at: 1 })

const COUNTED_MAX = 10_000
const PROBLEM_MAX_CHARS = 500

/**
 * @param {import('mongoose').Connection} connection
 * @param {{leaseMs: number, retryMaxMs: number}} options  a dead process's entries are due again after `leaseMs`
 */
export function createEntries (connection, { leaseMs, retryMaxMs }) {
  const Entries = /** @type {import('mongoose').Model<Entry>} */ (
    /** @type {unknown} */ (connection.model('QueueEntry', schema)))
  const entries = driverOf(Entries)
  const claim = new mongoose.Types.ObjectId()
  const aheadMs = 2 * Math.max(leaseMs, retryMaxMs)
  const inMs = (/** @type {number} */ ms) => new Date(Date.now() + ms)
  /** What another process has claimed meanwhile is left to it. @param {Pick<Entry, '_id'>} entry */
  const own = ({ _id }) => ({ _id, claim })

  return {
    /** @param {Pick<Entry, 'kind' | 'name'>} work @param {ClientSession} session */
    async add ({ kind, name }, session) {
      await entries.insertOne(
        { kind, name, done_up_to: '', due_at: new Date(), claim: null, failures: 0 }, { session }
      )
    },

    /**
     * This process works on one at a time: what it has claimed before was interrupted. A date far ahead comes from a
     * clock that was wrong.
     * @param {string[]} kinds @returns {Promise<Entry | null>} the one that is due for the longest time
     */
    claim: (kinds) => entries.findOneAndUpdate(
      {
        set_aside_at: { $exists: false },
        kind: { $in: kinds },
        $or: [{ due_at: { $lte: new Date() } }, { due_at: { $gt: inMs(aheadMs) } }, { claim }]
      },
      { $set: { claim, due_at: inMs(leaseMs) } },
      { sort: { due_at: 1 }, returnDocument: 'after' }
    ),

    /** @param {Entry} entry @param {string} doneUpTo @returns {Promise<boolean>} false: another process has it now */
    async keep (entry, doneUpTo) {
      const { matchedCount } = await entries.updateOne(
        own(entry), { $set: { done_up_to: doneUpTo, due_at: inMs(leaseMs), failures: 0 } }
      )
      return matchedCount > 0
    },

    /** To the next process, at once. @param {Entry} entry */
    async release (entry) {
      await entries.updateOne(own(entry), { $set: { claim: null, due_at: new Date() } })
    },

    /** @param {Entry} entry @param {ClientSession} session @returns {Promise<boolean>} false: another has it now */
    async finish (entry, session) {
      const { deletedCount } = await entries.deleteOne(own(entry), { session })
      return deletedCount > 0
    },

    /**
     * @param {Entry} entry
     * @param {{ms: number, failures: number, problem: string, setAside: boolean}} failure  `ms`: until it is due again
     */
    async fail (entry, { ms, failures, problem, setAside }) {
      await entries.updateOne(own(entry), {
        $set: {
          claim: null,
          due_at: inMs(ms),
          failures,
          problem: problem.slice(0, PROBLEM_MAX_CHARS),
          ...setAside && { set_aside_at: new Date() }
        }
      })
    },

    /** @returns {Promise<{waiting: number, setAside: number, oldestAt: Date | null}>} of the oldest 10 000 */
    async counts () {
      const found = await entries
        .find({}, { projection: { set_aside_at: 1 }, sort: { _id: 1 }, limit: COUNTED_MAX })
        .toArray()
      const waiting = found.filter(({ set_aside_at: at }) => at === undefined)
      return {
        waiting: waiting.length,
        setAside: found.length - waiting.length,
        oldestAt: waiting[0]?._id.getTimestamp() ?? null
      }
    }
  }
}

/** @typedef {ReturnType<typeof createEntries>} Entries */
