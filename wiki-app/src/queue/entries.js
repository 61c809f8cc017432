import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { realClock } from '../process/clock.js'

/** @import {ClientSession, Types} from 'mongoose' */
/** @import {Clock} from '../process/clock.js' */

/**
 * What has to be done after an edit, written in its transaction.
 * @typedef {object} Entry
 * @property {import('mongoose').Types.ObjectId} _id
 * @property {string} kind  which work it is, see worker.js
 * @property {string} name  of a page; '' if the work names more than one
 * @property {any} [content]  what the work needs beside the name
 * @property {number} [weight]  of the content; 1 if absent
 * @property {string} [traceparent]  of the edit, if it is traced
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
  content: mongoose.Schema.Types.Mixed,
  weight: Number,
  traceparent: String,
  done_up_to: String,
  due_at: Date,
  claim: mongoose.Schema.Types.ObjectId,
  failures: Number,
  problem: String,
  set_aside_at: Date
}, { collection: 'queue', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ set_aside_at: 1, kind: 1, due_at: 1 })

/** @typedef {Pick<Entry, 'kind' | 'name' | 'content' | 'weight' | 'traceparent'>} Task */

const COUNTED_MAX = 10_000

/** @param {import('mongoose').Connection} connection @param {Pick<Clock, 'wall'>} [clock] */
export function createEntries (connection, clock = realClock) {
  const Entries = /** @type {import('mongoose').Model<Entry>} */ (
    /** @type {unknown} */ (connection.model('QueueEntry', schema)))
  const entries = driverOf(Entries)
  return {
    collection: entries,

    /** @param {Task[]} tasks @param {ClientSession} session */
    async add (tasks, session) {
      const added = tasks.map((task) =>
        ({ ...task, done_up_to: '', due_at: new Date(clock.wall()), claim: null, failures: 0 }))
      await entries.insertMany(added, { session })
    },

    /**
     * @param {import('mongodb').Filter<Entry>} filter
     * @returns {Promise<{waiting: number, setAside: number, oldestAt: Date | null}>} of the oldest 10 000
     */
    async counts (filter) {
      const found = await entries
        .find(filter, { projection: { set_aside_at: 1 }, sort: { _id: 1 }, limit: COUNTED_MAX })
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
