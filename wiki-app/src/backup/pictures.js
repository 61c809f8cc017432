import { Binary, Int32 } from 'mongodb'
import { readConfig } from '../config.js'
import { inChunks } from '../files/storage/chunks.js'
import { BytesMissing } from '../files/storage/storage.js'
import { createOutside, loadS3 } from '../files/storage/storages.js'

/** @import {ClientSession, Collection, Db, Document, ObjectId} from 'mongodb' */
/** @import {Storage} from '../files/storage/storage.js' */

const FILES = 'files.files'
const CHUNKS = 'files.chunks'
/** Of the collections of private spaces, see files/model.js. */
const APART = 'space_'

/** Places of pictures beside the database, each also for those of private spaces. @typedef {Storage[]} Outside */

/**
 * @param {Record<string, string | undefined>} env  with the wiki's settings PICTURE_…; others do not count
 * @returns {Promise<Outside>} @throws {Error} ConfigError
 */
export async function openOutside (env) {
  const config = readConfig(Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('PICTURE_'))))
  const createS3 = await loadS3(config)
  return [false, true].flatMap((isApart) => createOutside(config, createS3, isApart))
}

/**
 * Bytes of pictures, wherever they are.
 * @param {Db} db @param {{session: ClientSession, outside?: Outside, prefix?: string}} options  `session`: of one
 *   moment; `prefix`: of their collections
 */
export function pictureBytes (db, { session, outside = [], prefix = '' }) {
  const inside = (/** @type {ObjectId} */ id, /** @type {ClientSession | undefined} */ moment = undefined) =>
    inDatabase(db.collection(prefix + CHUNKS), id, moment)
  /** Deleted since that moment, with their bytes. @type {Set<string>} */
  const gone = new Set()

  /** @param {Document} file @returns {AsyncGenerator<Buffer>} @throws {Error} when they cannot be read */
  async function * outsideBytes (file) {
    const { metadata: { place }, filename: name, length } = file
    try {
      return yield * await storageOf(place.store).read({ id: place.id, name }, length)
    } catch (error) {
      if (!(error instanceof BytesMissing)) throw error
      const now = await db.collection(prefix + FILES).findOne({ _id: file._id })
      if (now === null) {
        gone.add(String(file._id))
        return
      }
      const moved = now.metadata.place
      if (moved.id.equals(place.id)) throw new Error(`the picture ${name} cannot be read: ${error.message}`)
      return yield * moved.store === 'database' ? inside(moved.id) : outsideBytes(now)
    }
  }

  /** @param {string} name */
  function storageOf (name) {
    const storage = outside.find((each) => each.name === name && each.isApart === (prefix === APART))
    if (storage !== undefined) return storage
    throw new Error(`pictures of this wiki are stored in ${name}; give this command the wiki's settings PICTURE_…, too`)
  }

  return {
    gone,

    /** @param {Document} file @returns {AsyncGenerator<Buffer>} nothing where it is `gone` */
    read (file) {
      const { store = 'database', id = file._id } = file.metadata.place ?? {}
      return store === 'database' ? inside(id, session) : outsideBytes(file)
    }
  }
}

/**
 * A backup has all pictures in the database, so that a restore needs nothing else.
 * @param {Db} db @param {{session: ClientSession, outside?: Outside}} options  `session`: of the backup's moment
 * @returns {Record<string, () => AsyncGenerator<Document>>} by collection, in this order; no left-overs
 */
export const picturesOf = (db, options) => ({ ...kindOf(db, options, ''), ...kindOf(db, options, APART) })

/** @param {Db} db @param {{session: ClientSession, outside?: Outside}} options @param {string} prefix */
function kindOf (db, { session, outside }, prefix) {
  const raw = { promoteValues: false, promoteBuffers: false }
  const { read, gone } = pictureBytes(db, { session, outside, prefix })

  async function * chunks () {
    for await (const file of db.collection(prefix + FILES).find({}, { session })) {
      const isInside = (file.metadata.place?.store ?? 'database') === 'database'
      const pieces = isInside ? read(file) : inChunks(read(file))
      let n = 0
      for await (const data of pieces) {
        yield { _id: `${file._id.toHexString()}-${n}`, files_id: file._id, n: new Int32(n), data: new Binary(data) }
        n++
      }
    }
  }

  async function * files () {
    for await (const file of db.collection(prefix + FILES).find({}, { session, ...raw })) {
      const { place: _, ...metadata } = file.metadata
      if (!gone.has(String(file._id))) yield { ...file, metadata }
    }
  }

  return { [prefix + CHUNKS]: chunks, [prefix + FILES]: files }
}

/**
 * @param {Collection} chunks @param {ObjectId} id @param {ClientSession} [session] @returns {AsyncGenerator<Buffer>}
 */
async function * inDatabase (chunks, id, session) {
  const found = chunks.find({ files_id: id }, { session, promoteBuffers: true }).sort({ n: 1 })
  for await (const { data } of found) yield data
}
