import mongoose from 'mongoose'

/** @import {Connection, Model} from 'mongoose' */

export const BUCKET = 'files'

/**
 * https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md
 * @typedef {object} StoredFile
 * @property {import('mongoose').Types.ObjectId} _id  increases with time, so the list of uploads is sorted by it
 * @property {string} filename  the first 32 hexadecimal digits of its SHA-256
 * @property {number} length  bytes
 * @property {Date} uploadDate
 * @property {{type: string, extension: string, width: number, height: number, author: string, alt?: string}} metadata
 *   `alt`: what the picture shows, its name in lists; none before there were such names
 */
/**
 * Why there is nothing at its address.
 * @typedef {{_id: string, deleted_at: Date, author: string}} DeletedFile  `_id`: the name of the file
 */

const fileSchema = new mongoose.Schema({
  length: Number,
  chunkSize: Number,
  uploadDate: Date,
  filename: String,
  metadata: { type: { type: String }, extension: String, width: Number, height: Number, author: String, alt: String }
}, { collection: `${BUCKET}.files`, versionKey: false, strict: 'throw', strictQuery: 'throw' })
// The same content twice is one file.
fileSchema.index({ filename: 1 }, { unique: true })
// Otherwise the driver creates these at the first upload.
fileSchema.index({ filename: 1, uploadDate: 1 })

const chunkSchema = new mongoose.Schema(
  { files_id: mongoose.Schema.Types.ObjectId, n: Number, data: Buffer },
  { collection: `${BUCKET}.chunks`, versionKey: false, strict: 'throw', strictQuery: 'throw' }
)
chunkSchema.index({ files_id: 1, n: 1 }, { unique: true })

const deletedSchema = new mongoose.Schema(
  { _id: String, deleted_at: Date, author: String },
  { collection: 'deleted_files', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)

/** @param {Connection} connection */
export const defineFileModels = (connection) => ({
  Files: /** @type {Model<StoredFile>} */ (
    /** @type {unknown} */ (connection.model('File', fileSchema))
  ),
  Chunks: /** @type {any} */ (connection.model('Chunk', chunkSchema)),
  Deleted: /** @type {Model<DeletedFile>} */ (
    /** @type {unknown} */ (connection.model('DeletedFile', deletedSchema))
  )
})
