import mongoose from 'mongoose'

/**
 * A page as it is stored. A deleted page stays, so that its revision goes on growing when it is created again.
 * @typedef {object} Page
 * @property {string} _id  the name
 * @property {string} title_key  the name as it is sorted and searched
 * @property {number} revision  1 for the first, one more with each save or deletion
 * @property {string} content  Markdown
 * @property {number} content_bytes  its length in UTF-8
 * @property {Buffer} html  what the Markdown became at save
 * @property {string} html_hash  of `html` and `modified_at`
 * @property {Date} created_at
 * @property {Date} modified_at
 * @property {Date | null} deleted_at  not null: there is no page to see
 * @property {string | null} [redirect_to]  the name that a page which was here has now; only where `deleted_at` is not null
 */

/**
 * One state of a page: kept for ever, never changed. A deletion is one too, without a text.
 * @typedef {object} Revision
 * @property {import('mongoose').Types.ObjectId} _id  grows with time, so changes are listed by it
 * @property {string} page  its name
 * @property {number} revision  larger than all before it of this name
 * @property {number | null} follows  the revision before it; null for the first
 * @property {string} content  Markdown; '' for a deletion
 * @property {number} content_bytes
 * @property {string} author  the name that the author gave; '' for none
 * @property {string} summary  what the author says of the change; may be ''
 * @property {boolean} deleted
 * @property {Date} created_at
 */

const pageSchema = new mongoose.Schema({
  _id: String,
  title_key: String,
  revision: Number,
  content: String,
  content_bytes: Number,
  html: Buffer,
  html_hash: String,
  created_at: Date,
  modified_at: Date,
  deleted_at: Date,
  redirect_to: String
}, { collection: 'pages', versionKey: false, strict: 'throw', strictQuery: 'throw' })

// Serves the list in its order and lets a search read keys instead of pages.
pageSchema.index({ deleted_at: 1, title_key: 1, _id: 1 })

const revisionSchema = new mongoose.Schema({
  page: String,
  revision: Number,
  follows: Number,
  content: String,
  content_bytes: Number,
  author: String,
  summary: String,
  deleted: Boolean,
  created_at: Date
}, { collection: 'revisions', versionKey: false, strict: 'throw', strictQuery: 'throw' })

// A page's history, and the guarantee that it is a line: no two revisions of one number.
revisionSchema.index({ page: 1, revision: -1 }, { unique: true })
// What one author did.
revisionSchema.index({ author: 1, _id: -1 })

/**
 * @param {import('mongoose').Connection} connection
 * @returns {{Pages: import('mongoose').Model<Page>, Revisions: import('mongoose').Model<Revision>}}
 */
export const defineModels = (connection) => ({
  Pages: /** @type {import('mongoose').Model<Page>} */ (/** @type {unknown} */ (connection.model('Page', pageSchema))),
  Revisions: /** @type {import('mongoose').Model<Revision>} */ (/** @type {unknown} */ (connection.model('Revision', revisionSchema)))
})
