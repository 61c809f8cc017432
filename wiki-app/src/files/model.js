import mongoose from 'mongoose'

/** @import {Connection, Model, Types} from 'mongoose' */
/** @import {StorageName} from './storage/storage.js' */

const BUCKET = 'files'

/**
 * https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md
 * @typedef {object} StoredFile
 * @property {import('mongoose').Types.ObjectId} _id  increases with time, so the list of uploads is sorted by it
 * @property {string} filename  the first 32 hexadecimal digits of its SHA-256
 * @property {number} length  bytes
 * @property {number} chunkSize  in the database
 * @property {Date} uploadDate
 * @property {string} [space]  the private space that it is of, its name; none: it is public
 * @property {Metadata} metadata
 *
 * @typedef {{store: StorageName, id: Types.ObjectId}} Place  of the bytes, see Key in storage/storage.js
 * @typedef {{type: string, author: string, alt?: string, place?: Place} &
 *   (Picture | Attachment)} Metadata
 *   `alt`: what the picture shows, its name in lists; none before there were such names. `place`: none is the database,
 *   under the `_id` of the document
 * @typedef {{extension: string, width: number, height: number, names?: undefined}} Picture  pixels
 * @typedef {{names: string[], extension?: undefined, width?: undefined, height?: undefined}} Attachment
 *   `names`: those that it was uploaded with, the first one first; its addresses end in them
 */
/**
 * Why there is nothing at its address.
 * @typedef {{_id: string, deleted_at: Date, author: string}} DeletedFile  `_id`: the name of the file; in a private
 *   space, after that of the space and a slash
 */

/** A thumbnail that could not be made is tried again after a day: it may have been the machine. */
const FAILED_FOR_S = 86_400

/**
 * A small version of a picture, made again where it is missing.
 * @typedef {{_id: Types.ObjectId, data?: Buffer, failed_at?: Date}} Thumbnail  `_id`: of the file; `data`: WebP
 */

const fileSchema = new mongoose.Schema({
  length: Number,
  chunkSize: Number,
  uploadDate: Date,
  filename: String,
  metadata: {
    type: { type: String },
    extension: String,
    width: Number,
    height: Number,
    author: String,
    alt: String,
    names: { type: [String], default: undefined },
    place: new mongoose.Schema({ store: String, id: mongoose.Schema.Types.ObjectId }, { _id: false })
  }
}, { collection: `${BUCKET}.files`, versionKey: false, strict: 'throw', strictQuery: 'throw' })
// The same content twice is one file.
fileSchema.index({ filename: 1 }, { unique: true })
// To move and to collect bytes.
fileSchema.index({ 'metadata.place.store': 1, 'metadata.place.id': 1 }, { sparse: true })

const chunkSchema = new mongoose.Schema(
  // Made of file and number: a unique index of both cannot be sharded by the file's hash. Older ones are ObjectIds.
  { _id: mongoose.Schema.Types.Mixed, files_id: mongoose.Schema.Types.ObjectId, n: Number, data: Buffer },
  { collection: `${BUCKET}.chunks`, versionKey: false, strict: 'throw', strictQuery: 'throw' }
)
// Descending only to differ from the unique one of older versions: both are there while a wiki is upgraded.
chunkSchema.index({ files_id: 1, n: -1 })

const deletedSchema = new mongoose.Schema(
  { _id: String, deleted_at: Date, author: String },
  { collection: 'deleted_files', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)

const thumbnailSchema = new mongoose.Schema(
  { data: Buffer, failed_at: Date },
  { collection: 'thumbnails', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)
thumbnailSchema.index({ failed_at: 1 }, { expireAfterSeconds: FAILED_FOR_S })

/** Of one space each: the same content in two of them is two files. */
const spaceFileSchema = fileSchema.clone().clearIndexes().add({ space: String })
spaceFileSchema.index({ space: 1, filename: 1 }, { unique: true })
spaceFileSchema.index({ space: 1, _id: -1 })
spaceFileSchema.index({ 'metadata.place.store': 1, 'metadata.place.id': 1 }, { sparse: true })

/** As of spaces/model.js. */
const PREFIX = 'space_'

/** @param {Connection} connection */
export const defineFileModels = (connection) => define(connection, '', fileSchema)

/** Without indexes at a start, see spaces/spaces.js. @param {Connection} connection */
export const defineSpaceFileModels = (connection) => define(connection, PREFIX, spaceFileSchema)

/** @param {Connection} connection @param {string} prefix @param {mongoose.Schema} files */
function define (connection, prefix, files) {
  const model = (/** @type {string} */ name, /** @type {mongoose.Schema} */ schema) => {
    const own = prefix === '' ? schema : schema.clone().set('autoIndex', false)
    return /** @type {unknown} */ (connection.model(prefix + name, own, prefix + schema.get('collection')))
  }
  return {
    Files: /** @type {Model<StoredFile>} */ (model('File', files)),
    Chunks: /** @type {any} */ (model('Chunk', chunkSchema)),
    Deleted: /** @type {Model<DeletedFile>} */ (model('DeletedFile', deletedSchema)),
    Thumbnails: /** @type {Model<Thumbnail>} */ (model('Thumbnail', thumbnailSchema))
  }
}

/** @typedef {ReturnType<typeof defineFileModels>} FileModels */
