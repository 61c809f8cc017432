import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { FORMAT, LEFT_OUT, lineOf, Tally, VERSION, WrongDatabaseError } from './format.js'
import { picturesOf } from './pictures.js'
import { atOneMoment } from './snapshot.js'

/** @import {Outside} from './pictures.js' */

const SELECTION_MS = 5_000

/**
 * The wiki may run meanwhile: https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/
 * @param {import('./format.js').Source & {outside?: Outside}} options  the file is created, or replaced, once all of it
 *   is written; `outside`: see openOutside in pictures.js
 * @returns {Promise<Record<string, number>>} documents by collection
 * @throws {WrongDatabaseError} when the database is empty
 * @throws {Error} when it is unreachable, or its snapshot expires (after 5 minutes by default)
 */
export async function writeBackup ({ uri, file, outside, signal, onProgress = () => {} }) {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_MS })
  const part = `${file}.part`
  try {
    await client.connect()
    const db = client.db()
    const names = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.') && !LEFT_OUT.has(name))
      .sort()
    if (names.length === 0) {
      throw new WrongDatabaseError(`the database ${db.databaseName} is empty: there is no wiki in it`)
    }
    /** @type {Record<string, number>} */
    const counts = {}
    const target = createWriteStream(part, { mode: 0o600 })
    await once(target, 'open')
    await atOneMoment(client, 'backup', (session) => pipeline(
      Readable.from(lines(client, names, { session, counts, outside, onProgress })),
      createGzip({ level: 6 }),
      target,
      { signal }
    ))
    await settle(part, file)
    return counts
  } catch (error) {
    await rm(part, { force: true })
    throw error
  } finally {
    await client.close()
  }
}

/**
 * @param {MongoClient} client @param {string[]} names
 * @param {{session: import('mongodb').ClientSession, counts: Record<string, number>, outside?: Outside,
 *   onProgress: import('./format.js').OnProgress}} options  `counts`: filled as it goes
 */
async function * lines (client, names, { session, counts, outside, onProgress }) {
  const db = client.db()
  const tally = new Tally()
  const pictures = picturesOf(db, { session, outside })
  const header = {
    format: FORMAT, version: VERSION, created_at: new Date().toISOString(), database: db.databaseName
  }
  yield `${JSON.stringify(header)}\n`
  for (const name of names) {
    counts[name] = 0
    // Numbers keep their types: an int32 must not become a double.
    const all = pictures[name]?.() ??
      db.collection(name).find({}, { session, promoteValues: false, promoteBuffers: false })
    for await (const document of all) {
      const line = lineOf(name, document)
      tally.add(name, line)
      yield line
      counts[name] += 1
      if (counts[name] % 1_000 === 0) onProgress(name, counts[name])
    }
    onProgress(name, counts[name])
  }
  yield `${JSON.stringify({ end: counts, checksums: tally.content().checksums })}\n`
}

/**
 * A file of the final name is complete, even after a failure of the machine.
 * @param {string} part @param {string} file
 */
async function settle (part, file) {
  const flush = async (/** @type {string} */ name) => {
    const handle = await open(name, 'r')
    await handle.sync()
    await handle.close()
  }
  await flush(part)
  await rename(part, file)
  await flush(path.dirname(path.resolve(file)))
}
