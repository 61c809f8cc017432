import mongoose from 'mongoose'
import { tagsFor, tagsForCounts } from '../caching/invalidation.js'
import { driverOf } from '../database/driver.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Stale} from '../caching/invalidation.js' */
/** @import {Purges} from '../pages/commit.js' */
/** @import {Task} from '../queue/entries.js' */
/** @import {Later} from '../queue/queue.js' */

/**
 * What edits of one transaction made stale (`stale`), or the mark of a process that watches the log (`mark`).
 * @typedef {{everything: true} | {everything: false, tags: string[]}} StaleTags
 * @typedef {{_id: mongoose.Types.ObjectId | string, at: Date, stale?: StaleTags, mark?: number}} Logged
 */

const schema = new mongoose.Schema({
  _id: mongoose.Schema.Types.Mixed,
  at: Date,
  stale: mongoose.Schema.Types.Mixed,
  mark: Number
}, { collection: 'purge_log', versionKey: false, strict: 'throw', strictQuery: 'throw' })
/** Followers get entries from the change stream, so nobody reads old ones. */
const KEPT_S = 600
schema.index({ at: 1 }, { expireAfterSeconds: KEPT_S })

/** As the kind of a task. */
const LOGGED = 'purge-log'

/** @param {Connection} connection @returns {mongoose.mongo.Collection<Logged>} */
export const logOf = (connection) => /** @type {any} */ (
  driverOf(connection.models.PurgeLog ?? connection.model('PurgeLog', schema)))

/**
 * The log of what edits made stale. The edit's transaction writes its entry, so the log has each edit that is
 * acknowledged, and no other. Its order is that of the commits, as the change stream has it (watch.js).
 * @param {Connection} connection
 */
export function createPurgeLog (connection) {
  const log = logOf(connection)
  /** @param {(Stale | null)[]} stales @returns {Task[]} */
  const tasksOf = (stales) =>
    stales.filter((stale) => stale !== null).map((content) => ({ kind: LOGGED, name: '', content }))
  /** @satisfies {Purges & import('../files/store.js').Purges} */
  const purges = {
    ofCommits: (/** @type {import('../pages/commit.js').Commit[]} */ commits) => tasksOf(commits.map(tagsFor)),
    ofCounted: (/** @type {import('../pages/commit.js').Recounted} */ recounted) => tasksOf([tagsForCounts(recounted)]),
    /** Files have no tags in caches, and few are deleted. */
    ofUrls: () => tasksOf([{ everything: true }]),
    ofEverything: () => tasksOf([{ everything: true }]),
    added () {}
  }
  return {
    purges,

    /** @param {Later} later  for other tasks @returns {Later} */
    before: (later) => async (tasks, session) => {
      const stales = tasks.filter(({ kind }) => kind === LOGGED).map(({ content }) => content)
      if (stales.length > 0) await append(stales, session)
      await later(tasks.filter(({ kind }) => kind !== LOGGED), session)
    }
  }

  /** @param {Stale[]} stales @param {ClientSession} session */
  async function append (stales, session) {
    await log.insertOne({ _id: new mongoose.Types.ObjectId(), stale: merged(stales), at: new Date() }, { session })
  }
}

/** @typedef {ReturnType<typeof createPurgeLog>} PurgeLog */

/** A document has at most 16 MiB, and a cache forgets everything in less time than so many tags. */
export const TAGS_MAX = 5_000

/** @param {Stale[]} stales @returns {Logged['stale']} */
function merged (stales) {
  const tags = [...new Set(stales.flatMap((stale) => stale.everything ? [] : stale.tags))]
  const everything = stales.some((stale) => stale.everything) || tags.length > TAGS_MAX
  return everything ? { everything } : { everything, tags }
}
