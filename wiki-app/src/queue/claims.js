import mongoose from 'mongoose'

/** @import {ClientSession} from 'mongoose' */
/** @import {Entries, Entry} from './entries.js' */

const PROBLEM_MAX_CHARS = 500

/**
 * The entries that this process works on.
 * @param {Entries['collection']} entries
 * @param {{leaseMs: number, retryMaxMs: number}} options  a dead process's entries are due again after `leaseMs`
 */
export function createClaims (entries, { leaseMs, retryMaxMs }) {
  const claim = new mongoose.Types.ObjectId()
  const aheadMs = 2 * Math.max(leaseMs, retryMaxMs)
  const inMs = (/** @type {number} */ ms) => new Date(Date.now() + ms)
  /** What another process has claimed meanwhile is left to it. @param {Pick<Entry, '_id'>} entry */
  const own = ({ _id }) => ({ _id, claim })
  const due = () => ({
    set_aside_at: { $exists: false },
    $or: [{ due_at: { $lte: new Date() } }, { due_at: { $gt: inMs(aheadMs) } }, { claim }]
  })
  const claimed = () => ({ $set: { claim, due_at: inMs(leaseMs) } })

  return {
    /**
     * This process works on one at a time: what it has claimed before was interrupted. A date far ahead comes from a
     * clock that was wrong.
     * @param {string[]} kinds @returns {Promise<Entry | null>} the one that is due for the longest time
     */
    claim: (kinds) => entries.findOneAndUpdate(
      { ...due(), kind: { $in: kinds } }, claimed(), { sort: { due_at: 1 }, returnDocument: 'after' }
    ),

    /**
     * Others of this kind that are due.
     * @param {Entry} first  claimed @param {{max: number, maxWeight: number}} limits  with the first
     * @returns {Promise<Entry[]>} with the first
     */
    async claimMore (first, { max, maxWeight }) {
      const found = await entries
        .find({ ...due(), kind: first.kind, _id: { $ne: first._id } }, {
          projection: { weight: 1 }, sort: { due_at: 1 }, limit: max - 1
        })
        .toArray()
      const ids = []
      let weight = weightOf(first)
      for (const entry of found) {
        weight += weightOf(entry)
        if (weight > maxWeight) break
        ids.push(entry._id)
      }
      if (ids.length === 0) return [first]
      await entries.updateMany({ _id: { $in: ids }, ...due() }, claimed())
      return [first, ...await entries.find({ _id: { $in: ids }, claim }).toArray()]
    },

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

    /**
     * @param {Pick<Entry, '_id'>[]} done @param {ClientSession} session
     * @returns {Promise<boolean>} false: another process has one of them now
     */
    async finish (done, session) {
      const { deletedCount } = await entries.deleteMany(
        { _id: { $in: done.map(({ _id }) => _id) }, claim }, { session }
      )
      return deletedCount === done.length
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
  }
}

/** @param {Pick<Entry, 'weight'>} entry */
const weightOf = ({ weight = 1 }) => weight

/** @typedef {ReturnType<typeof createClaims>} Claims */
