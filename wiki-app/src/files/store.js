import { createHash } from 'node:crypto'
import mongoose from 'mongoose'
import { inTransaction } from '../database/transaction.js'
import { spaceFilesUrl } from '../spaces/addresses.js'
import { encodeAttachmentName } from './attachment-name.js'
import { createInsert } from './insert.js'
import { inspected, nameOf } from './inspected.js'
import { CHUNK_BYTES } from './storage/chunks.js'
import { BytesMissing } from './storage/storage.js'
import { keyOf, storageNameOf } from './storage/storages.js'
import { hasThumbnail, THUMBNAIL } from './thumbnails/thumbnails.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Task} from '../queue/entries.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Within} from './insert.js' */
/** @import {DeletedFile, FileModels, StoredFile} from './model.js' */
/** @import {Key, StorageName} from './storage/storage.js' */
/** @import {Storages} from './storage/storages.js' */
/** @import {createSemaphore} from '../http/semaphore.js' */
/** @import {Room} from './room.js' */
/** @import {Thumbnails} from './thumbnails/thumbnails.js' */

/** @typedef {ReturnType<typeof createSemaphore>} Semaphore */

const { mongo } = mongoose

const LISTED_AT_ONCE = 100
/** A picture that is stored and deleted at the same moment. */
const TRIES = 3

/** Of the list, too. */
export const FILES_URL = '/files'

/** More would be a way to fill caches: each is an address, and a deletion purges them all. */
const NAMES_MAX = 20

/** @param {StoredFile} file @param {string} [name]  of an attachment that has several @returns {string} */
export const urlOf = ({ filename, space, metadata: { extension, names } }, name = names?.[0]) =>
  `${space === undefined ? FILES_URL : spaceFilesUrl(space)}/${filename}` +
  (name === undefined ? `.${extension}` : `/${encodeAttachmentName(name)}`)

/** @param {StoredFile} file @returns {string | null} null: it is no picture, or a small one */
export const thumbnailUrlOf = (file) => hasThumbnail(file.metadata) ? `${urlOf(file)}/${THUMBNAIL}` : null

/** @param {StoredFile} file @returns {string[]} */
function urlsOf (file) {
  const { names } = file.metadata
  if (names !== undefined) return names.map((name) => urlOf(file, name))
  const thumbnail = thumbnailUrlOf(file)
  return thumbnail === null ? [urlOf(file)] : [urlOf(file), thumbnail]
}

/**
 * As of the page store: what is no longer true in caches.
 * @typedef {{ofUrls: (urls: string[]) => Task[], added: () => void}} Purges
 * @type {Purges}
 */
const NO_PURGES = { ofUrls: () => [], added: () => {} }

/**
 * Named by the hash of the content: a URL always has the same bytes.
 * @typedef {{models: FileModels, storages: Storages, thumbnails: Thumbnails, room: Room, uploads: Semaphore,
 *   maxBytes: number, within?: Within, later: Later, purges?: Purges, log: Pick<FastifyBaseLogger, 'warn'>}} Options
 *   `within`: of a private space alone
 * @typedef {{author: string, alt?: string, name?: string, bytesMax?: number}} About  `alt`: what it shows; `name`: of
 *   an attachment, as `attachmentName` has it; without one only pictures are taken; `bytesMax`: it has no more
 * @param {Options} options  `maxBytes`: of one file
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createFileStore (options) {
  const { models, storages, thumbnails, room, uploads, maxBytes, within, later, purges = NO_PURGES, log } = options
  const { Files, Deleted } = models
  const insert = createInsert(models, within)
  const own = within && { space: within.space }
  const called = (/** @type {string} */ filename) => ({ ...own, filename })
  const deletedId = (/** @type {string} */ filename) => own ? `${own.space}/${filename}` : filename
  const readAt = (/** @type {StoredFile} */ file) =>
    storages.get(storageNameOf(file)).read(keyOf(file), file.length)

  /** @param {string} name @returns {Promise<StoredFile | null>} */
  const find = (name) => Files.findOne(called(name)).lean().exec()

  /**
   * Nothing stays of a file that is refused.
   * @param {AsyncIterable<Buffer> | Buffer[]} source @param {About} about
   * @returns {Promise<{file: StoredFile, created: boolean}>} not created: it was there already, and has the name unless
   *   it has too many
   * @throws {Error} 400 no bytes, 413 too many bytes or pixels, 415 no whole picture; errors of `source`
   */
  async function store (source, about) {
    const release = await room.reserve(Math.min(about.bytesMax ?? maxBytes, maxBytes))
    const inspection = inspected(source, { maxBytes, name: about.name })
    if (release === null) return onlyNamed(inspection)
    try {
      return await storeInspected(inspection, about)
    } finally {
      release()
    }
  }

  /**
   * Without room: a file that is there already needs none.
   * @param {ReturnType<typeof inspected>} inspection
   * @returns {Promise<{file: StoredFile, created: boolean}>} @throws {Error} 413
   */
  async function onlyNamed ({ pieces, found }) {
    // eslint-disable-next-line no-unused-vars -- only its hash counts
    for await (const _ of pieces()) continue
    const { hash, kind } = found()
    const file = await there(hash, 'names' in kind ? kind.names : undefined)
    if (file === null) throw room.full()
    return { file, created: false }
  }

  /** @param {ReturnType<typeof inspected>} inspection @param {About} about */
  async function storeInspected (inspection, { author, alt = '' }) {
    const { fresh } = storages
    const id = new mongo.ObjectId()
    await fresh.put(id, inspection.pieces(), () => inspection.found().hash)
    const { hash, length, kind } = inspection.found()
    const place = fresh.name === 'database' ? {} : { place: { store: fresh.name, id } }
    const stored = await keep({
      ...own,
      _id: id,
      filename: hash,
      length,
      chunkSize: CHUNK_BYTES,
      uploadDate: new Date(),
      metadata: { ...kind, author, alt, ...place }
    })
    if (stored.created) room.take(length)
    return stored
  }

  /**
   * @param {string} filename @param {string[]} [names]  one, of an attachment
   * @returns {Promise<StoredFile | null>} the one that is there, with this name
   */
  async function there (filename, names) {
    const present = await find(filename)
    if (names === undefined || present === null || present.metadata.names?.includes(names[0]) !== false) return present
    const hasRoom = {
      'metadata.names.0': mongoose.trusted({ $exists: true }),
      [`metadata.names.${NAMES_MAX - 1}`]: mongoose.trusted({ $exists: false })
    }
    await Files.updateOne({ ...called(filename), ...hasRoom }, { $addToSet: { 'metadata.names': names[0] } }).exec()
    return find(filename)
  }

  /**
   * After an error that leaves open whether the document is there, its bytes stay.
   * @param {StoredFile} file  whose bytes are stored
   */
  async function keep (file) {
    for (let attempt = 1; ; attempt++) {
      const isNew = await insert(file).catch(async (error) => {
        if (isRefusal(error)) await discard(storageNameOf(file), keyOf(file))
        throw error
      })
      if (isNew) return { file, created: true }
      const present = await there(file.filename, file.metadata.names)
      if (present === null && attempt < TRIES) continue
      await discard(storageNameOf(file), keyOf(file))
      if (present === null) throw new Error(`${file.filename} was stored and deleted again and again meanwhile`)
      return { file: present, created: false }
    }
  }

  /** What fails here is collected later. @param {StorageName} name @param {Key} key */
  async function discard (name, key) {
    await storages.get(name).remove(key).catch((error) => {
      log.warn({ err: error, place: name }, 'the bytes of a file could not be removed; they are collected later')
    })
  }

  /**
   * @param {StoredFile} file
   * @returns {Promise<import('node:stream').Readable>}
   * @throws {Error} 503 while its place is away, BytesMissing
   */
  async function read (file) {
    try {
      return await readAt(file)
    } catch (error) {
      if (!(error instanceof BytesMissing)) throw error
      const now = await find(file.filename)
      if (now === null || String(keyOf(now).id) === String(keyOf(file).id)) throw error
      return readAt(now)
    }
  }

  return {
    maxBytes,

    find,

    /**
     * As `store`.
     * @param {AsyncIterable<Buffer>} source @param {About} about
     * @throws {Error} 429 too many at once
     */
    async save (source, about) {
      const release = uploads.take()
      try {
        const stored = await store(source, about)
        if (stored.created) thumbnails.start(stored.file, () => read(stored.file))
        return stored
      } finally {
        release()
      }
    },

    /**
     * As `store`, for a file that has arrived: it takes no slot.
     * @param {Buffer} bytes @param {About} about
     */
    saveWhole: (bytes, about) => store([bytes], { ...about, bytesMax: bytes.length }),

    /**
     * @param {Buffer} bytes @param {string} [name]  of an attachment
     * @returns {Promise<StoredFile | null>} null also where `bytes` go on after the picture, or it has another name
     */
    async findWhole (bytes, name) {
      const found = await find(nameOf(createHash('sha256').update(bytes)))
      const { names } = found?.metadata ?? {}
      return names === undefined || (name !== undefined && names.includes(name)) ? found : null
    },

    /** @returns {AsyncIterable<StoredFile>} the oldest first */
    all: () => Files.find({ ...own }).sort({ _id: 1 }).lean().cursor({ batchSize: LISTED_AT_ONCE }),

    /** @param {string} name @param {string} alt @returns {Promise<StoredFile | null>} null: there is no such file */
    rename: (name, alt) =>
      Files.findOneAndUpdate(called(name), { 'metadata.alt': alt }, { returnDocument: 'after' }).lean().exec(),

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
        await thumbnails.remove(file, session)
        await Deleted.updateOne({ _id: deletedId(file.filename) }, deleted, { upsert: true, session }).exec()
        await later(purges.ofUrls([...urlsOf(gone), FILES_URL]), session)
      })
      purges.added()
      await discard(storageNameOf(gone), keyOf(gone))
    },

    /** @param {string} name @returns {Promise<DeletedFile | null>} */
    findDeleted: (name) => Deleted.findById(deletedId(name)).lean().exec(),

    read,

    /** @param {StoredFile} file @returns {Promise<Buffer | null>} null: it has none, or not yet */
    thumbnail: (file) => thumbnails.find(file, () => read(file)),

    /** @param {StoredFile} file @returns {string | null} the address at which nginx has the file, see Storage */
    internalUrl: (file) => storages.get(storageNameOf(file)).internalUrl(keyOf(file)),

    /**
     * @param {{before?: string, limit: number}} part  `before`: the `_id` of the last one seen
     * @returns {Promise<{items: StoredFile[], more: boolean}>} the newest first
     */
    async list ({ before, limit }) {
      const found = await Files
        .find({ ...own, ...before !== undefined && { _id: mongoose.trusted({ $lt: new mongo.ObjectId(before) }) } })
        .sort({ _id: -1 })
        .limit(limit + 1)
        .lean()
        .exec()
      return { items: found.slice(0, limit), more: found.length > limit }
    }
  }
}

/** By the private space: nothing was stored. @param {{statusCode?: number}} error */
const isRefusal = ({ statusCode = 500 }) => statusCode < 500

/** @typedef {ReturnType<typeof createFileStore>} FileStore */
