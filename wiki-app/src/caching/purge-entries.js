import { realClock } from '../process/clock.js'
import { createClaims } from '../queue/claims.js'
import { createDepth } from '../queue/depth.js'
import { createEntries } from '../queue/entries.js'
import { purgeKeysOf } from './invalidation.js'

/** @import {Clock} from '../process/clock.js' */
/** @import {Stale} from './invalidation.js' */

/** The kind of work. */
export const PURGE = 'purge'
/** As `done_up_to`: each entry is purged twice. */
const ONCE = 'once'

/**
 * What an edit made stale, until the caches are purged twice. `api`: of which caches; absent where the wiki purges by
 * one API.
 * @typedef {Stale & {api?: string}} Content
 * @typedef {import('../queue/entries.js').Entry & {content: Content}} Entry
 */

/** @param {Pick<Entry, 'done_up_to'>} entry */
export const isAgain = (entry) => entry.done_up_to === ONCE

/**
 * @param {Stale[]} stales @param {string} [api]  of which caches
 * @returns {import('../queue/entries.js').Task[]}
 */
export const purgeTasks = (stales, api) =>
  stales.map((stale) => ({ kind: PURGE, name: '', content: { ...stale, ...api !== undefined && { api } } }))

/**
 * The entries in the queue that purge caches. The entries of a dead process are due again when its claim ends.
 * @param {import('mongoose').Connection} connection
 * @param {{leaseMs: number, repeatAfterMs: number, target?: import('./purge-queues.js').Target, clock?: Clock}} options
 */
export function createPurgeEntries (connection, { leaseMs, repeatAfterMs, target, clock = realClock }) {
  const queue = createEntries(connection, clock)
  const entries = queue.collection
  const claims = createClaims(entries, { leaseMs, delayMaxMs: repeatAfterMs, clock })
  const own = { kind: PURGE, ...target && { 'content.api': apisOf(target) } }
  const notYetPurged = { ...own, done_up_to: '' }

  return {
    /** Of the edits that the caches have not confirmed. */
    depth: createDepth(queue, notYetPurged, clock),

    /** @param {number} max */
    claim: (max) => /** @type {Promise<Entry[]>} */ (claims.claimDue(own, max)),

    /** @param {Entry[]} purged  those that another process has claimed meanwhile are left to it */
    async markPurged (purged) {
      await claims.finish(purged.filter(isAgain))
      await claims.release(purged.filter((entry) => !isAgain(entry)), repeatAfterMs, { done_up_to: ONCE })
    },

    /** @param {string[]} names @returns {Promise<boolean>} whether a purge is confirmed for each edit of these pages */
    async isPurged (names) {
      const { urls, tags } = purgeKeysOf(names)
      const stale = [
        { 'content.everything': true }, { 'content.urls': { $in: urls } }, { 'content.tags': { $in: tags } }
      ]
      const waiting = { set_aside_at: { $exists: false }, ...notYetPurged, $or: stale }
      return await entries.findOne(waiting, { projection: { _id: 1 } }) === null
    },

    /** @param {Entry[]} claimed @param {number} ms */
    postpone: (claimed, ms) => claims.release(claimed, Math.min(ms, leaseMs)),

    /**
     * Adds no purge of everything when one is queued.
     * @param {Pick<Entry, '_id'>[]} replaced @param {number} ms  until it is due
     */
    async replaceByEverything (replaced, ms) {
      const [{ kind, name, content }] = purgeTasks([{ everything: true }], target?.api)
      // First: a crash in between leaves one entry too many.
      const everything = await entries.findOneAndUpdate(
        { kind, done_up_to: '', claim: null, 'content.everything': true, ...target && { 'content.api': target.api } },
        { $setOnInsert: { name, content, due_at: new Date(clock.wall() + Math.min(ms, leaseMs)), failures: 0 } },
        { upsert: true, returnDocument: 'after' }
      )
      const ids = replaced.filter(({ _id }) => !everything?._id.equals(_id)).map(({ _id }) => _id)
      await entries.deleteMany({ _id: { $in: ids } })
    },

    /**
     * @param {number} max  of entries
     * @returns {Promise<Pick<Entry, '_id'>[]>} all entries when there are more, else none
     */
    async allIfMoreThan (max) {
      const count = await entries.countDocuments(own, { limit: max + 1 })
      return count > max ? entries.find(own, { projection: { _id: 1 } }).toArray() : []
    }
  }
}

/** The first of several queues takes those of no queue, too. @param {import('./purge-queues.js').Target} target */
const apisOf = ({ api, others }) => others === null ? api : { $nin: others }
