import { MongoClient, ObjectId } from 'mongodb'
import { SHORT_LINK_COLLECTIONS } from '../short-links/model.js'
import { BackupError, difference, lineOf, Tally } from './format.js'
import { restore } from './read.js'

/** @import {Db} from 'mongodb' */

const SELECTION_MS = 5_000
const DUPLICATE_KEY = 11_000
const SHOWN_MAX = 5
const PREFIX = 'stevec_verify_'
/** With the time of its start, by which a later drill knows one that was killed. */
const DRILL = new RegExp(`^${PREFIX}([0-9a-f]{24})$`)
const DAY_MS = 86_400_000
/** A drill drops no more of them: each may be large. */
const DROPPED_MAX = 10

/**
 * Restores a backup into a new database of the server, reads it back, and drops that database. The database that the
 * URI names is neither read nor changed; its name only selects where credentials are checked.
 * @param {import('./format.js').Source} options
 * @returns {Promise<import('./format.js').Content>} what the file contains, and what was read back
 * @throws {BackupError} when the file is not a complete backup, or when a wiki restored from it would not be whole
 */
export async function verifyBackup ({ uri, file, signal, onProgress = () => {} }) {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_MS })
  const db = client.db(`${PREFIX}${new ObjectId().toHexString()}`)
  let problem
  try {
    await dropKilled(client)
    const content = await restore({ uri, file, database: db.databaseName, signal, onProgress })
    const found = await readBack(db, Object.keys(content.counts), signal, onProgress)
    problem = difference(content.counts, content.checksums, found) ?? await findTornPages(db) ??
      await findLostLinks(db)
    if (problem === null) return content
  } finally {
    // Also after an interrupt. A server that is gone by now must not hide why.
    await db.dropDatabase().catch(() => {})
    await client.close()
  }
  throw new BackupError(`${file}: the wiki restored from it ${problem}`)
}

/**
 * Drops the databases of drills that were killed more than a day ago: one that lasts so long has not ended.
 * @param {MongoClient} client
 */
async function dropKilled (client) {
  const found = await client.db().admin().listDatabases({ nameOnly: true, filter: { name: DRILL } })
  const startOf = (/** @type {string} */ name) => new ObjectId(DRILL.exec(name)?.[1]).getTimestamp().getTime()
  const killed = found.databases.map(({ name }) => name).filter((name) => startOf(name) < Date.now() - DAY_MS)
  for (const name of killed.slice(0, DROPPED_MAX)) await client.db(name).dropDatabase()
}

/**
 * @param {Db} db @param {string[]} names @param {AbortSignal | undefined} signal
 * @param {import('./format.js').OnProgress} onProgress
 */
async function readBack (db, names, signal, onProgress) {
  const tally = new Tally()
  let read = 0
  for (const name of names) {
    // As a backup reads them: numbers keep their types.
    for await (const document of db.collection(name).find({}, { promoteValues: false, promoteBuffers: false })) {
      signal?.throwIfAborted()
      tally.add(name, lineOf(name, document))
      if (++read % 1_000 === 0) onProgress('reading back', read)
    }
  }
  return tally.content()
}

/**
 * @param {Db} db
 * @returns {Promise<string | null>} what is wrong with histories, as the end of a sentence
 */
async function findTornPages (db) {
  try {
    await db.collection('revisions').createIndex({ page: 1, revision: -1 }, { unique: true })
  } catch (error) {
    if (/** @type {any} */ (error).code !== DUPLICATE_KEY) throw error
    return 'has two revisions of one number'
  }
  const torn = await db.collection('pages').aggregate([
    {
      $lookup: {
        from: 'revisions',
        let: { page: { $ifNull: ['$history', '$_id'] }, revision: '$revision' },
        pipeline: [
          { $match: { $expr: { $and: [{ $eq: ['$page', '$$page'] }, { $eq: ['$revision', '$$revision'] }] } } },
          { $project: { _id: 1 } }
        ],
        as: 'newest'
      }
    },
    // A former name has no revisions.
    { $match: { revision: { $type: 'number' }, redirect_to: null, newest: { $size: 0 } } },
    { $project: { _id: 1 } },
    { $limit: SHOWN_MAX }
  ]).toArray()
  if (torn.length === 0) return null
  return `has pages without their newest revision, such as ${torn.map(({ _id: name }) => `"${name}"`).join(', ')}`
}

/** @param {Db} db @returns {Promise<string | null>} what is wrong with short addresses, as the end of a sentence */
async function findLostLinks (db) {
  const pages = { from: 'pages', localField: 'page', foreignField: '_id', pipeline: [{ $project: { _id: 1 } }] }
  for (const name of SHORT_LINK_COLLECTIONS) {
    const lost = await db.collection(name).aggregate([
      { $lookup: { ...pages, as: 'found' } },
      { $match: { found: { $size: 0 } } },
      { $limit: SHOWN_MAX }
    ]).toArray()
    if (lost.length === 0) continue
    return `has short addresses of pages that are not there, such as ${lost.map(({ page }) => `"${page}"`).join(', ')}`
  }
  return null
}
