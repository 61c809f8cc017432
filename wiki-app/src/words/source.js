import mongoose from 'mongoose'
import { causally } from '../database/causally.js'

/** @import {Collection, Document, Timestamp} from 'mongodb' */
/** @import {Index, State} from './file.js' */

const GROUP_MAX_PAGES = 100
/** Texts in memory at a time. */
const GROUP_MAX_BYTES = 4_194_304

/** The index with which pages are in the order of their names' bytes (pages/model.js). */
const IN_ORDER = 'below'

/** @typedef {{_id: string, revision: number, content_bytes: number, deleted_at: Date | null}} Head */

/**
 * Pages as a majority of the database's servers has them: no failover takes them back.
 * https://www.mongodb.com/docs/manual/reference/read-concern-majority/
 * @param {Collection<any>} collection @param {import('mongodb').MongoClient} client
 */
export function createSource (collection, client) {
  /**
   * Not from before the change that is known.
   * @template T @param {string} clusterTime @param {(options: object) => Promise<T>} read @returns {Promise<T>}
   */
  const notBefore = (clusterTime, read) => causally(client, timestampOf(clusterTime), read)
  const projection = { revision: 1, content_bytes: 1, deleted_at: 1 }

  return {
    /** @param {string[]} names @param {string} clusterTime @returns {Promise<Head[]>} */
    headsOf: (names, clusterTime) => notBefore(clusterTime, (options) =>
      collection.find({ _id: { $in: names } }, { projection, ...options }).toArray()),

    /** In the order of their bytes. @param {string} after @param {number} limit @param {string} clusterTime */
    headsAfter: (after, limit, clusterTime) => notBefore(clusterTime, (options) =>
      /** @type {Promise<Head[]>} */ (
        collection.find({ deleted_at: null, _id: { $gt: after } }, { projection, ...options })
          .sort({ _id: 1 }).limit(limit).hint(IN_ORDER).toArray())),

    /** @param {string[]} names @param {string} clusterTime */
    textsOf: (names, clusterTime) => notBefore(clusterTime, (options) =>
      /** @type {Promise<(Head & {content: string})[]>} */ (
        collection.find({ _id: { $in: names } }, { projection: { ...projection, content: 1 }, ...options }).toArray()))
  }
}

/** @typedef {ReturnType<typeof createSource>} Source */

/**
 * Brings pages in the index to what the database has; pages whose revision is in the index already cost nothing.
 * @param {Index} index @param {Source} source
 * @param {{heads: Head[], gone: string[], stored: Map<string, number>, clusterTime: string, state: Partial<State>}}
 *   pages
 *   `state`: stored with the last of them
 * @returns {Promise<number>} how many pages were indexed
 */
export async function bringUpToDate (index, source, { heads, gone, stored, clusterTime, state }) {
  const deleted = heads.filter(({ deleted_at: at }) => at != null).map(({ _id }) => _id)
  const changed = heads.filter(({ _id, revision, deleted_at: at }) => at == null && stored.get(_id) !== revision)
  const groups = groupsOf(changed)
  for (const [number, names] of groups.entries()) {
    const found = await source.textsOf(names, clusterTime)
    const texts = found.filter(({ deleted_at: at }) => at == null)
      .map(({ _id: name, revision, content }) => ({ name, revision, content }))
    const there = new Set(texts.map(({ name }) => name))
    const vanished = names.filter((name) => !there.has(name))
    const isLast = number === groups.length - 1
    await index.apply({
      texts, gone: isLast ? [...gone, ...deleted, ...vanished] : vanished, state: isLast ? state : {}
    })
  }
  if (groups.length === 0) await index.apply({ texts: [], gone: [...gone, ...deleted], state })
  return changed.length
}

/** @param {Head[]} heads @returns {string[][]} names */
function groupsOf (heads) {
  /** @type {string[][]} */
  const groups = []
  let bytes = Infinity
  for (const { _id: name, content_bytes: size = 0 } of heads) {
    if (bytes + size > GROUP_MAX_BYTES || groups[groups.length - 1].length === GROUP_MAX_PAGES) {
      groups.push([])
      bytes = 0
    }
    groups[groups.length - 1].push(name)
    bytes += size
  }
  return groups
}

/** @param {Timestamp} timestamp */
export const textOfTimestamp = (timestamp) => timestamp.toString()
/** @param {string} text @returns {Timestamp} */
export const timestampOf = (text) => mongoose.mongo.Timestamp.fromString(text, 10)

/** @param {import('mongodb').Db} db @returns {Promise<string>} the time of the database's last operation */
export async function clusterTimeOf (db) {
  const { operationTime } = await db.command({ ping: 1 })
  return textOfTimestamp(operationTime)
}

/**
 * @param {import('mongodb').Db} db @param {string} name
 * @returns {Promise<string>} differs when the collection is made anew, as by restoring a backup
 */
export async function identityOf (db, name) {
  const [found] = await db.listCollections({ name }, { nameOnly: false }).toArray()
  const uuid = /** @type {Document | undefined} */ (found)?.info?.uuid
  if (uuid === undefined) throw new Error(`there is no collection ${name} yet`)
  return `${db.databaseName}.${name} ${uuid.toString('hex')}`
}
