import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import createError from '@fastify/error'
import mongoose from 'mongoose'
import { readableSize } from '../readable.js'
import { inTransaction } from '../database/transaction.js'
import { createSemaphore } from '../http/semaphore.js'
import { inspectImage } from './image.js'
import { BUCKET } from './model.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {DeletedFile, StoredFile, defineFileModels} from './model.js' */

const { mongo } = mongoose

export const FileTooLarge = createError(
  'WIKI_FILE_TOO_LARGE',
  'The picture is larger than %s. Make it smaller, or save it as JPEG or WebP.',
  413
)
const CHUNK_BYTES = 1_048_576
/** Each buffers a megabyte while its client sends: 30 s at most. */
const ARRIVING_MAX = 16
const DUPLICATE_KEY = 11_000
const LISTED_AT_ONCE = 100

/** @param {import('node:crypto').Hash} hash  SHA-256 of the content */
const nameOf = (hash) => hash.digest('hex').slice(0, 32)

/** @param {StoredFile} file */
export const urlOf = ({ filename, metadata: { extension } }) => `/files/${filename}.${extension}`

/**
 * As of the page store: what is no longer true in caches.
 * @typedef {{addUrls: (urls: string[], session: ClientSession) => Promise<void>, added: () => void}} Outbox
 * @type {Outbox}
 */
const SILENT = { addUrls: async () => {}, added: () => {} }

/**
 * Named by the hash of the content: a URL always has the same bytes.
 * @typedef {{models: ReturnType<typeof defineFileModels>, maxBytes: number, outbox?: Outbox}} Options
 * @param {Options} options  `maxBytes`: of one file
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createFileStore ({ models: { Files, Chunks, Deleted }, maxBytes, outbox = SILENT }) {
  function bucket () {
    const { db } = Files.db
    if (db === undefined) throw new mongo.MongoNotConnectedError('not connected yet')
    return new mongo.GridFSBucket(db, { bucketName: BUCKET, chunkSizeBytes: CHUNK_BYTES })
  }

  const uploads = createSemaphore(ARRIVING_MAX)

  /** @param {string} name */
  const find = (name) => Files.findOne({ filename: name }).lean().exec()

  /**
   * Nothing stays of a picture that is refused.
   * @param {AsyncIterable<Buffer> | Buffer[]} source @param {string} author @param {string} [alt]  what it shows
   * @returns {Promise<{file: StoredFile, created: boolean}>} not created: it was there already
   * @throws {Error} 413 too many bytes or pixels, 415 no whole picture; errors of `source`
   */
  async function store (source, author, alt = '') {
    const upload = bucket().openUploadStream('')
    try {
      await pipeline(
        /** @type {AsyncIterable<Buffer>} */ (/** @type {unknown} */ (source)),
        (/** @type {AsyncIterable<Buffer>} */ chunks) => inspected(chunks, { maxBytes, upload, author, alt }),
        upload
      )
      return { file: /** @type {StoredFile} */ (await find(upload.filename)), created: true }
    } catch (error) {
      await Chunks.deleteMany({ files_id: upload.id }).exec().catch(() => {})
      if (!(error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY)) throw error
      return { file: /** @type {StoredFile} */ (await find(upload.filename)), created: false }
    }
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
      await inTransaction(Files.db, async (session) => {
        await Files.deleteOne({ _id: file._id }, { session }).exec()
        await Chunks.deleteMany({ files_id: file._id }, { session }).exec()
        const deleted = { deleted_at: new Date(), author }
        await Deleted.updateOne({ _id: file.filename }, deleted, { upsert: true, session }).exec()
        await outbox.addUrls([urlOf(file), '/files'], session)
      })
      outbox.added()
    },

    /** @param {string} name @returns {Promise<DeletedFile | null>} */
    findDeleted: (name) => Deleted.findById(name).lean().exec(),

    /** @param {StoredFile} file @returns {import('node:stream').Readable} */
    read: (file) => bucket().openDownloadStream(file._id),

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
 * Passes on what belongs to the picture, and describes the upload.
 * @typedef {{author: string, alt: string}} About
 * @param {AsyncIterable<Buffer>} chunks
 * @param {About & {maxBytes: number, upload: import('mongodb').GridFSBucketWriteStream}} options
 */
async function * inspected (chunks, { maxBytes, upload, author, alt }) {
  const hash = createHash('sha256')
  const inspection = inspectImage()
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new FileTooLarge(readableSize(maxBytes))
      const part = await inspection.feed(chunk)
      if (part.length === 0) continue
      hash.update(part)
      yield part
    }
    const image = await inspection.end()
    // GridFS writes both with the last chunk.
    upload.filename = nameOf(hash)
    upload.options.metadata = { ...image, author, alt }
  } finally {
    inspection.stop()
  }
}

/** @typedef {ReturnType<typeof createFileStore>} FileStore */
