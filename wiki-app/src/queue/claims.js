import mongoose from 'mongoose'
import { realClock } from '../process/clock.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Clock} from '../process/clock.js' */
/** @import {Entries, Entry} from './entries.js' */

const PROBLEM_MAX_CHARS = 500
const NOT_SET_ASIDE = { set_aside_at: { $exists: false } }

/** @typedef {Pick<Entry, '_id'>} Claimed */
/** @typedef {Record<string, unknown>} Filter */

/**
 * The entries that this process works on.
 * @param {Entries['collection']} entries
 * @param {{leaseMs: number, delayMaxMs: number, clock?: Pick<Clock, 'wall'>}} options  a dead process's entries are due
 *   again after `leaseMs`; `delayMaxMs`: the longest time until an entry is due
 */
export function createClaims (entries, { leaseMs, delayMaxMs, clock = realClock }) {
  const claim = new mongoose.Types.ObjectId()
  // Twice, as hosts' clocks differ.
  const aheadMs = 2 * Math.max(leaseMs, delayMaxMs)
  const inMs = (/** @type {number} */ ms) => new Date(clock.wall() + ms)
  /** What another process has claimed meanwhile is left to it. @param {Claimed[]} claimed */
  const own = (claimed) => ({ _id: { $in: claimed.map(({ _id }) => _id) }, claim })
  /** A date far ahead comes from a clock that was wrong. */
  const atDueTime = () => [{ due_at: { $lte: inMs(0) } }, { due_at: { $gt: inMs(aheadMs) } }]
  const due = () => ({ ...NOT_SET_ASIDE, $or: atDueTime() })
  /** This process works on one at a time: what it has claimed before was interrupted. */
  const dueOrInterrupted = () => ({ ...NOT_SET_ASIDE, $or: [...atDueTime(), { claim }] })
  const claiming = () => ({ $set: { claim, due_at: inMs(leaseMs) } })

  /**
   * @param {Filter} filter  of entries that are due @param {{max: number, maxWeight?: number}} limits
   * @returns {Promise<Entry[]>} those that no other process has claimed meanwhile
   */
  async function claimAll (filter, { max, maxWeight = Infinity }) {
    const found = await entries.find(filter, { projection: { weight: 1 }, sort: { due_at: 1 }, limit: max }).toArray()
    const ids = []
    let weight = 0
    for (const entry of found) {
      weight += weightOf(entry)
      if (weight > maxWeight) break
      ids.push(entry._id)
    }
    if (ids.length === 0) return []
    // An update takes no limit.
    await entries.updateMany({ ...filter, _id: { $in: ids } }, claiming())
    return entries.find({ _id: { $in: ids }, claim }).toArray()
  }

  return {
    /** @param {string[]} kinds @returns {Promise<Entry | null>} the one that is due for the longest time */
    claim: (kinds) => entries.findOneAndUpdate(
      { ...dueOrInterrupted(), kind: { $in: kinds } }, claiming(), { sort: { due_at: 1 }, returnDocument: 'after' }
    ),

    /**
     * @param {Filter} filter @param {number} max
     * @returns {Promise<Entry[]>} those that are due for the longest time; an idle process only reads
     */
    claimDue: (filter, max) => claimAll({ ...due(), ...filter }, { max }),

    /**
     * Others of this kind that are due.
     * @param {Entry} first  claimed @param {{max: number, maxWeight: number}} limits  with the first
     * @returns {Promise<Entry[]>} with the first
     */
    async claimMore (first, { max, maxWeight }) {
      const others = { ...dueOrInterrupted(), kind: first.kind, _id: { $ne: first._id } }
      return [first, ...await claimAll(others, { max: max - 1, maxWeight: maxWeight - weightOf(first) })]
    },

    /** @param {Entry} entry @param {string} doneUpTo @returns {Promise<boolean>} false: another process has it now */
    async keep (entry, doneUpTo) {
      const { matchedCount } = await entries.updateOne(
        own([entry]), { $set: { done_up_to: doneUpTo, due_at: inMs(leaseMs), failures: 0 } }
      )
      return matchedCount > 0
    },

    /**
     * To the next process.
     * @param {Claimed[]} claimed @param {number} ms  until they are due @param {Pick<Entry, 'done_up_to'>} [done]
     */
    async release (claimed, ms, done) {
      if (claimed.length === 0) return
      await entries.updateMany(own(claimed), { $set: { claim: null, due_at: inMs(ms), ...done } })
    },

    /**
     * @param {Claimed[]} done @param {ClientSession} [session]
     * @returns {Promise<boolean>} false: another process has one of them now
     */
    async finish (done, session) {
      if (done.length === 0) return true
      const { deletedCount } = await entries.deleteMany(own(done), { session })
      return deletedCount === done.length
    },

    /**
     * @param {Entry} entry
     * @param {{ms: number, failures: number, problem: string, setAside: boolean}} failure  `ms`: until it is due again
     */
    async fail (entry, { ms, failures, problem, setAside }) {
      await entries.updateOne(own([entry]), {
        $set: {
          claim: null,
          due_at: inMs(ms),
          failures,
          problem: problem.slice(0, PROBLEM_MAX_CHARS),
          ...setAside && { set_aside_at: new Date() }
        }
      })
    }
  }
}

/** @param {Pick<Entry, 'weight'>} entry */
const weightOf = ({ weight = 1 }) => weight

/** @typedef {ReturnType<typeof createClaims>} Claims */
