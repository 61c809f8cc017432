import { driverOf } from '../../database/driver.js'
import { BOX } from './limits.js'
import { NotMade } from './maker.js'

/** @import {Readable} from 'node:stream' */
/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {ClientSession} from 'mongoose' */
/** @import {FileModels, StoredFile} from '../model.js' */
/** @import {Maker} from './maker.js' */

/** After that of a picture: where its thumbnail is. */
export const THUMBNAIL = 'thumbnail.webp'

/** Of a small picture, the picture itself is shown. @param {StoredFile['metadata']} metadata */
export const hasThumbnail = ({ width = 0, height = 0 }) => Math.max(width, height) > BOX

/** @param {Pick<StoredFile, 'metadata'>} file @param {string} name  behind the file’s in an address */
export const isThumbnail = ({ metadata }, name) => name === THUMBNAIL && hasThumbnail(metadata)

/**
 * Small versions of pictures, kept in the database. Nobody waits for one: until it is made, and where it cannot be, the
 * picture is shown.
 * @param {Pick<FileModels, 'Files' | 'Thumbnails'>} models @param {Pick<FastifyBaseLogger, 'warn'>} log
 * @param {Maker | null} maker  null: none are made, in a wiki that only reads
 */
export function createThumbnails ({ Files, Thumbnails }, log, maker) {
  const thumbnails = driverOf(Thumbnails)
  const files = driverOf(Files)
  /** @type {Map<string, Promise<void>>} */
  const underway = new Map()

  const isGone = async (/** @type {StoredFile['_id']} */ _id) =>
    await files.findOne({ _id }, { projection: { _id: 1 } }) === null

  /** @param {StoredFile} file @param {() => Promise<Readable>} read @param {Maker} by */
  async function make ({ _id, filename }, read, by) {
    const made = await by.make(read)
    if ('refused' in made) log.warn({ file: filename, reason: made.refused }, 'a picture has no thumbnail')
    // What failed here may have been made by another process.
    if ('data' in made) await thumbnails.replaceOne({ _id }, made, { upsert: true })
    else await thumbnails.updateOne({ _id }, { $setOnInsert: { failed_at: new Date() } }, { upsert: true })
    // A deletion may have come between.
    if (await isGone(_id)) await thumbnails.deleteOne({ _id })
  }

  /** @param {StoredFile} file @param {() => Promise<Readable>} read  its bytes, later */
  function start (file, read) {
    const key = String(file._id)
    if (maker === null || underway.has(key) || !hasThumbnail(file.metadata)) return
    const making = make(file, read, maker).catch(async (error) => {
      // It may have been deleted while it waited.
      if (error instanceof NotMade || await isGone(file._id).catch(() => false)) return
      log.warn({ err: error, file: file.filename }, 'a thumbnail could not be made')
    }).finally(() => underway.delete(key))
    underway.set(key, making)
  }

  return {
    start,

    /**
     * @param {StoredFile} file @param {() => Promise<Readable>} read
     * @returns {Promise<Buffer | null>} null: there is none, or not yet
     */
    async find (file, read) {
      const found = await thumbnails.findOne({ _id: file._id })
      if (found === null) start(file, read)
      return found?.data ?? null
    },

    /** With the file. @param {StoredFile} file @param {ClientSession} session */
    remove: ({ _id }, session) => thumbnails.deleteOne({ _id }, { session }),

    /** Once the maker closes. */
    settled: () => Promise.all(underway.values())
  }
}

/** @typedef {ReturnType<typeof createThumbnails>} Thumbnails */
