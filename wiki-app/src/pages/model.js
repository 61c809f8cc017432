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
 * @property {Date | null} deleted_at
 */

const schema = new mongoose.Schema({
  _id: String,
  title_key: String,
  revision: Number,
  content: String,
  content_bytes: Number,
  html: Buffer,
  html_hash: String,
  created_at: Date,
  modified_at: Date,
  deleted_at: Date
}, { collection: 'pages', versionKey: false, strict: 'throw', strictQuery: 'throw' })

// Serves the list in its order and lets a search read keys instead of pages.
schema.index({ deleted_at: 1, title_key: 1, _id: 1 })

/**
 * @param {import('mongoose').Connection} connection
 * @returns {import('mongoose').Model<Page>}
 */
export const definePage = (connection) => /** @type {import('mongoose').Model<Page>} */ (/** @type {unknown} */ (connection.model('Page', schema)))
