import mongoose from 'mongoose'

/**
 * A page as it is stored. A deleted page stays, so that its revision goes on growing when it is created again.
 * @typedef {object} Page
 * @property {string} _id  the name
 * @property {string} title_key  the name as it is sorted and searched
 * @property {number} revision  1 for the first, one more with each save or deletion
 * @property {string} content  Markdown
 * @property {number} content_bytes  its length in UTF-8
 * @property {string[]} tags  canonical, sorted
 * @property {string[]} links  names of the other pages that the text leads to, whether they exist or not
 * @property {Buffer} html  what the Markdown became at save
 * @property {string} html_hash  of `html` and `modified_at`: rendering the same HTML again makes the same hash
 * @property {number} renderer  version of what made `html`; a text, or nothing, is older than all numbers
 * @property {string | null} [links_outdated]  a mark: pages have come or gone, and `html` shows links to them as before
 * @property {Date} rendered_at  when `html` last changed
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
 * @property {string[]} tags
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
  tags: [String],
  links: [String],
  html: Buffer,
  html_hash: String,
  renderer: mongoose.Schema.Types.Mixed,
  links_outdated: String,
  rendered_at: Date,
  created_at: Date,
  modified_at: Date,
  deleted_at: Date,
  redirect_to: String
}, { collection: 'pages', versionKey: false, strict: 'throw', strictQuery: 'throw' })

// Serves the list in its order and lets a search read keys instead of pages.
pageSchema.index({ deleted_at: 1, title_key: 1, _id: 1 })
// Which pages lead to one, and which have a tag.
pageSchema.index({ links: 1, deleted_at: 1, title_key: 1, _id: 1 })
pageSchema.index({ tags: 1, deleted_at: 1, title_key: 1, _id: 1 })
// Former names.
pageSchema.index({ redirect_to: 1 }, { partialFilterExpression: { redirect_to: { $gt: '' } } })
// Words as they are written, in any language: no stems and no stop words of one of them. One collection can have one such index.
pageSchema.index({ deleted_at: 1, title_key: 'text', content: 'text' }, { name: 'full_text', default_language: 'none', weights: { title_key: 10, content: 1 } })

const revisionSchema = new mongoose.Schema({
  page: String,
  revision: Number,
  follows: Number,
  content: String,
  content_bytes: Number,
  tags: [String],
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
 * A name that some page leads to or that is a page's own: what is there, and how many other pages lead there. It makes pages that
 * nobody links to, and names that nobody has written yet, a matter of an index; and two writers, of whom one links to the page that
 * the other creates, meet in it.
 * @typedef {object} Target
 * @property {string} _id  the name
 * @property {'page' | 'redirect' | null} is
 * @property {number} sources  pages with a link to it, and former names that lead to it
 */
const targetSchema = new mongoose.Schema({ _id: String, is: String, sources: Number }, { collection: 'targets', versionKey: false, strict: 'throw', strictQuery: 'throw' })
targetSchema.index({ is: 1, sources: -1, _id: 1 })

/**
 * @typedef {object} Tag
 * @property {string} _id  canonical
 * @property {number} pages  how many have it
 */
const tagSchema = new mongoose.Schema({ _id: String, pages: Number }, { collection: 'tags', versionKey: false, strict: 'throw', strictQuery: 'throw' })

/**
 * @param {import('mongoose').Connection} connection
 * @returns {{Pages: import('mongoose').Model<Page>, Revisions: import('mongoose').Model<Revision>, Targets: import('mongoose').Model<Target>, Tags: import('mongoose').Model<Tag>}}
 */
export const defineModels = (connection) => ({
  Pages: /** @type {import('mongoose').Model<Page>} */ (/** @type {unknown} */ (connection.model('Page', pageSchema))),
  Revisions: /** @type {import('mongoose').Model<Revision>} */ (/** @type {unknown} */ (connection.model('Revision', revisionSchema))),
  Targets: /** @type {import('mongoose').Model<Target>} */ (/** @type {unknown} */ (connection.model('Target', targetSchema))),
  Tags: /** @type {import('mongoose').Model<Tag>} */ (/** @type {unknown} */ (connection.model('Tag', tagSchema)))
})
