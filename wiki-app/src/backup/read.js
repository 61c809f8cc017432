import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { BSON, MongoClient } from 'mongodb'
import { PLACES } from '../files/storage/places.js'
import { BackupError, documentsIn, WrongDatabaseError } from './format.js'

/** @import {Document} from 'mongodb' */

const SELECTION_MS = 5_000
/** A wiki without pages has these, too. */
/** See purge-log/entries.js. */
const PURGE_LOG = 'purge_log'
const OF_MIGRATIONS = new Set(['migrations', 'migration_lease'])
/** MongoDB takes messages of up to 48 MB. */
const BATCH_MAX_BYTES = 8_000_000
const BATCH_MAX_DOCUMENTS = 1_000

/**
 * The whole file is checked before the first write.
 * @param {Target} options
 * @returns {Promise<Record<string, number>>} documents by collection
 * @throws {BackupError} when the file is not a complete backup
 * @throws {WrongDatabaseError} when the database is not empty
 */
export const readBackup = async (options) => (await restore(options)).counts

/**
 * `replace`: also into a database that is not empty. `database`: default the one that the URI names.
 * @typedef {import('./format.js').Source & {replace?: boolean, database?: string}} Target
 */

/**
 * @param {Target} options  see readBackup
 * @returns {Promise<import('./format.js').Content>} what the file contains
 * @throws {BackupError} when the file is not a complete backup
 * @throws {WrongDatabaseError} when the database is not empty
 */
export async function restore ({ uri, file, replace = false, database, signal, onProgress = () => {} }) {
  let checked = 0
  await readAll(file, async () => {
    signal?.throwIfAborted()
    if (++checked % 1_000 === 0) onProgress('checking', checked)
  })
  const client = new MongoClient(uri, {
    serverSelectionTimeoutMS: SELECTION_MS,
    writeConcern: { w: 'majority', journal: true }
  })
  try {
    await client.connect()
    const db = client.db(database)
    const present = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.') && name !== PLACES)
    const used = []
    for (const name of present) {
      if (await db.collection(name).findOne({}, { projection: { _id: 1 } }) !== null) used.push(name)
    }
    const inTheWay = used.filter((name) => !OF_MIGRATIONS.has(name))
    if (inTheWay.length > 0 && !replace) {
      throw new WrongDatabaseError(`the database ${db.databaseName} is not empty (${inTheWay.join(', ')}); ` +
        'name another one, ' +
        'or say --replace to throw away what is in it')
    }
    // Also those that the backup lacks. Collections stay, with their indexes, for a wiki that runs.
    for (const name of used) await db.collection(name).deleteMany({})

    let name = ''
    let bytes = 0
    /** @type {Document[]} */
    let batch = []
    let written = 0
    const flush = async () => {
      if (batch.length === 0) return
      await db.collection(name).insertMany(batch, { ordered: true })
      written += batch.length
      onProgress('restoring', written);
      [batch, bytes] = [[], 0]
    }
    const content = await readAll(file, async (collection, document) => {
      signal?.throwIfAborted()
      if (collection !== name) await flush()
      name = collection
      batch.push(document)
      bytes += BSON.calculateObjectSize(document)
      if (batch.length >= BATCH_MAX_DOCUMENTS || bytes >= BATCH_MAX_BYTES) await flush()
    })
    await flush()
    // Caches that follow the log of a wiki that runs.
    if (present.includes(PURGE_LOG)) {
      await db.collection(PURGE_LOG).insertOne({ stale: { everything: true }, at: new Date() })
    }
    return content
  } finally {
    await client.close()
  }
}

/** @param {string} file @param {(collection: string, document: Document) => Promise<void>} take */
async function readAll (file, take) {
  const source = createReadStream(file)
  const unzipped = source.pipe(createGunzip())
  // `pipe` does not forward errors.
  source.on('error', (error) => unzipped.destroy(error))
  const documents = documentsIn(createInterface({ input: unzipped, crlfDelay: Infinity }))
  try {
    for (;;) {
      const { done, value } = await documents.next()
      if (done) return value
      await take(value.collection, value.document)
    }
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code?.startsWith('Z_')) throw new BackupError(`${file}: it is damaged or no gzip file (${code})`)
    if (error instanceof BackupError) throw new BackupError(`${file}: ${error.message}`)
    throw error
  } finally {
    source.destroy()
  }
}
