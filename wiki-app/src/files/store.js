import { createHash } from 'node:crypto'
import createError from '@fastify/error'
import mongoose from 'mongoose'
import { readableSize } from '../readable.js'
import { inTransaction } from '../database/transaction.js'
import { createSemaphore } from '../http/semaphore.js'
import { inspectImage } from './image.js'
import { CHUNK_BYTES } from './storage/chunks.js'
import { BytesMissing } from './storage/storage.js'
import { keyOf, storageNameOf } from './storage/storages.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Task} from '../queue/entries.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {DeletedFile, StoredFile, defineFileModels} from './model.js' */
/** @import {Key, StorageName} from './storage/storage.js' */
/** @import {Storages} from './storage/storages.js' */

const { mongo } = mongoose

export const FileTooLarge = createError(
  'WIKI_FILE_TOO_LARGE',
  'The picture is larger than %s. Make it smaller, or save it as JPEG or WebP.',
  413
)
/** Each buffers a megabyte while its client sends: 30 s at most. */
const ARRIVING_MAX = 16
const DUPLICATE_KEY = 11_000
const LISTED_AT_ONCE = 100
/** A picture that is stored and deleted at the same moment. */
const TRIES = 3

/** @param {import('node:crypto').Hash} hash  SHA-256 of the content */
const nameOf = (hash) => hash.digest('hex').slice(0, 32)

/** @param {StoredFile} file */
export const urlOf = ({ filename, metadata: { extension } }) => `/files/${filename}.${extension}`

/**
 * As of the page store: what is no longer true in caches.
 * @typedef {{ofUrls: (urls: string[]) => Task[], added: () => void}} Purges
 * @type {Purges}
 */
const NO_PURGES = { ofUrls: () => [], added: () => {} }

/**
 * Named by the hash of the content: a URL always has the same bytes.
 * @typedef {{models: ReturnType<typeof defineFileModels>, storages: Storages, maxBytes: number, later: Later,
 *   purges?: Purges, log: Pick<FastifyBaseLogger, 'warn'>}} Options
 * @param {Options} options  `maxBytes`: of one file
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createFileStore ({ models: { Files, Deleted }, storages, maxBytes, later, purges = NO_PURGES, log }) {
  const uploads = createSemaphore(ARRIVING_MAX)
  const readAt = (/** @type {StoredFile} */ file) =>
    storages.get(storageNameOf(file)).read(keyOf(file), file.length)

  /** @param {string} name @returns {Promise<StoredFile | null>} */
  const find = (name) => Files.findOne({ filename: name }).lean().exec()

  /**
   * Nothing stays of a picture that is refused.
   * @param {AsyncIterable<Buffer> | Buffer[]} source @param {string} author @param {string} [alt]  what it shows
   * @returns {Promise<{file: StoredFile, created: boolean}>} not created: it was there already
   * @throws {Error} 413 too many bytes or pixels, 415 no whole picture; errors of `source`
   */
  async function store (source, author, alt = '') {
    const { fresh } = storages
    const id = new mongo.ObjectId()
    const inspection = inspected(source, maxBytes)
    await fresh.put(id, inspection.pieces(), () => inspection.found().name)
    const { name, length, image } = inspection.found()
    const place = fresh.name === 'database' ? {} : { place: { store: fresh.name, id } }
    return keep({
      _id: id,
      filename: name,
      length,
      chunkSize: CHUNK_BYTES,
      uploadDate: new Date(),
      metadata: { ...image, author, alt, ...place }
    })
  }

  /**
   * After an error that leaves open whether the document is there, its bytes stay.
   * @param {StoredFile} file  whose bytes are stored
   */
  async function keep (file) {
    for (let attempt = 1; ; attempt++) {
      try {
        await Files.insertMany([file], { lean: true })
        return { file, created: true }
      } catch (error) {
        if (!isDuplicate(error)) throw error
        const present = await find(file.filename)
        if (present === null && attempt < TRIES) continue
        await discard(storageNameOf(file), keyOf(file))
        if (present === null) throw error
        return { file: present, created: false }
      }
    }
  }

  /** What fails here is collected later. @param {StorageName} name @param {Key} key */
  async function discard (name, key) {
    await storages.get(name).remove(key).catch((error) => {
      log.warn({ err: error, place: name }, 'a picture\'s bytes could not be removed; they are collected later')
    })
  }

  return {
    maxBytes,

    find,

    /**
     * As `store`.
     * @param {AsyncIterable<Buffer>} source @param {string} author @param {string} [alt]
     * @throws {Error} 429 too many at once
     */
    async save (source, author, alt) {
      const release = uploads.take()
      try {
        return await store(source, author, alt)
      } finally {
        release()
      }
    },

    /**
     * As `store`, for a picture that has arrived: it takes no slot.
     * @param {Buffer} bytes @param {string} author @param {string} alt
     */
    saveWhole: (bytes, author, alt) => store([bytes], author, alt),

    /** @param {Buffer} bytes @returns {Promise<StoredFile | null>} null also where `bytes` go on after the picture */
    findWhole: (bytes) => find(nameOf(createHash('sha256').update(bytes))),

    /** @returns {AsyncIterable<StoredFile>} the oldest first */
    all: () => Files.find().sort({ _id: 1 }).lean().cursor({ batchSize: LISTED_AT_ONCE }),

    /** @param {string} name @param {string} alt @returns {Promise<StoredFile | null>} null: there is no such file */
    rename: (name, alt) =>
      Files.findOneAndUpdate({ filename: name }, { 'metadata.alt': alt }, { returnDocument: 'after' }).lean().exec(),

    /**
     * For good; pages that show it keep their texts.
     * @param {StoredFile} file @param {string} author  of the deletion
     */
    async remove (file, author) {
      // It may have been moved since it was read.
      let gone = file
      await inTransaction(Files.db, async (session) => {
        const last = await Files.findOneAndDelete({ _id: file._id }, { session }).lean().exec()
        if (last !== null) gone = last
        const deleted = { deleted_at: new Date(), author }
        await Deleted.updateOne({ _id: file.filename }, deleted, { upsert: true, session }).exec()
        await later(purges.ofUrls([urlOf(file), '/files']), session)
      })
      purges.added()
      await discard(storageNameOf(gone), keyOf(gone))
    },

    /** @param {string} name @returns {Promise<DeletedFile | null>} */
    findDeleted: (name) => Deleted.findById(name).lean().exec(),

    /**
     * @param {StoredFile} file
     * @returns {Promise<import('node:stream').Readable>}
     * @throws {Error} 503 while its place is away, BytesMissing
     */
    async read (file) {
      try {
        return await readAt(file)
      } catch (error) {
        if (!(error instanceof BytesMissing)) throw error
        const now = await find(file.filename)
        if (now === null || String(keyOf(now).id) === String(keyOf(file).id)) throw error
        return readAt(now)
      }
    },

    /** @param {StoredFile} file @returns {string | null} the address at which nginx has the file, see Storage */
    internalUrl: (file) => storages.get(storageNameOf(file)).internalUrl(keyOf(file)),

    /**
     * @param {{before?: string, limit: number}} part  `before`: the `_id` of the last one seen
     * @returns {Promise<{items: StoredFile[], more: boolean}>} the newest first
     */
    async list ({ before, limit }) {
      const found = await Files
        .find(before === undefined ? {} : { _id: mongoose.trusted({ $lt: new mongo.ObjectId(before) }) })
        .sort({ _id: -1 })
        .limit(limit + 1)
        .lean()
        .exec()
      return { items: found.slice(0, limit), more: found.length > limit }
    }
  }
}

/**
 * @param {AsyncIterable<Buffer> | Buffer[]} source @param {number} maxBytes
 * @returns what belongs to the picture, and once all of it was read, what it is
 */
function inspected (source, maxBytes) {
  /** @type {{name: string, length: number, image: import('./image.js').Image} | undefined} */
  let found

  async function * pieces () {
    const hash = createHash('sha256')
    const inspection = inspectImage()
    let [arrived, length] = [0, 0]
    try {
      for await (const piece of source) {
        arrived += piece.length
        if (arrived > maxBytes) throw new FileTooLarge(readableSize(maxBytes))
        const part = await inspection.feed(piece)
        if (part.length === 0) continue
        hash.update(part)
        length += part.length
        yield part
      }
      found = { image: await inspection.end(), name: nameOf(hash), length }
    } finally {
      inspection.stop()
    }
  }

  return { pieces, found: () => /** @type {NonNullable<typeof found>} */ (found) }
}

/** @param {unknown} error  of a bulk write, too */
const isDuplicate = (error) => error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY

/** @typedef {ReturnType<typeof createFileStore>} FileStore */
