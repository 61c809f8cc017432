import mongoose from 'mongoose'

/** @import {Model} from 'mongoose' */

/**
 * A deleted page keeps its document, so that its revision goes on growing.
 * @typedef {object} Page
 * @property {string} _id  the name
 * @property {string} [history]  key of its revisions, where that is not its name, see histories.js
 * @property {string} search_key  of the name: without case and accents, see search-key.js
 * @property {number} revision  starts at 1, one more with each save or deletion
 * @property {string} content  Markdown
 * @property {number} content_bytes  length of `content` in UTF-8
 * @property {string[]} tags  canonical, sorted
 * @property {string[]} links  names of the pages that the text links to, whether they exist or not
 * @property {Buffer} html  the rendered Markdown, with missing links marked
 * @property {string} html_hash  of `html` and `modified_at`: rendering the same HTML again gives the same hash
 * @property {number} renderer  version of the renderer of `html`; a string or no value is older than all numbers
 * @property {string | null} [links_outdated]  unique mark: `html` shows links as before a linked page's change
 * @property {{names: string[], missing: string[], more: boolean} | null} [subpages]  see subpages.js; null: none
 * @property {string} [subpages_hash]  of `subpages`; '' or absent: none
 * @property {Date} rendered_at  when `html` or `subpages` last changed
 * @property {Date} created_at
 * @property {Date} modified_at
 * @property {Date | null} deleted_at  not null: the page was deleted or renamed
 * @property {string} [protection]  unique mark of the last change of a rule about it, see protection/protections.js
 * @property {string | null} [redirect_to]  the new name of a renamed page; only where `deleted_at` is not null
 */

/**
 * Kept for ever, and never changed, except that an administrator may erase it (history/erasure.js). A deletion is a
 * revision without a text.
 * @typedef {object} Revision
 * @property {import('mongoose').Types.ObjectId} _id  grows with time, so lists of changes are sorted by it
 * @property {string} page  key of the page's history: its first name, or an id, see histories.js
 * @property {number} revision  larger than all earlier ones of this page
 * @property {number | null} follows  the previous revision; null for the first
 * @property {string} content  Markdown; '' for a deletion
 * @property {number} content_bytes
 * @property {string[]} tags
 * @property {string} author  the name that the author gave; '' for none
 * @property {string} summary  the author's description of the change; may be ''
 * @property {boolean} deleted
 * @property {Date} created_at
 * @property {string} [save_id]  of a save that was answered before it was stored, see deferred/
 * @property {Date} [erased_at]  its text, tags and summary are gone
 * @property {string} [erased_by]  the administrator
 */

/**
 * Of lists by name: Č after C, 10 after 2. At this strength only equal names are equal: 7 and 07 are two places in a
 * list. https://www.mongodb.com/docs/manual/reference/collation/
 */
export const NAME_ORDER = { locale: 'en', numericOrdering: true, strength: 5 }

const pageSchema = new mongoose.Schema({
  _id: String,
  history: String,
  search_key: String,
  revision: Number,
  content: String,
  content_bytes: Number,
  tags: [String],
  links: [String],
  html: Buffer,
  html_hash: String,
  renderer: mongoose.Schema.Types.Mixed,
  links_outdated: String,
  subpages: mongoose.Schema.Types.Mixed,
  subpages_hash: String,
  rendered_at: Date,
  created_at: Date,
  modified_at: Date,
  deleted_at: Date,
  protection: String,
  redirect_to: String
}, { collection: 'pages', versionKey: false, strict: 'throw', strictQuery: 'throw' })

pageSchema.index({ deleted_at: 1, _id: 1 }, { name: 'by_name', collation: NAME_ORDER })
pageSchema.index({ links: 1, deleted_at: 1, _id: 1 }, { name: 'linking_by_name', collation: NAME_ORDER })
pageSchema.index({ tags: 1, deleted_at: 1, _id: 1 }, { name: 'tagged_by_name', collation: NAME_ORDER })
// A title search reads index keys instead of pages.
pageSchema.index({ deleted_at: 1, search_key: 1, _id: 1 }, { name: 'search' })
// Byte by byte, for the names below a name: in order of bytes they are a range. Of words/source.js, too.
pageSchema.index({ deleted_at: 1, _id: 1 }, { name: 'below' })
pageSchema.index({ history: 1 }, { partialFilterExpression: { history: { $gt: '' } } })
pageSchema.index({ redirect_to: 1 }, { partialFilterExpression: { redirect_to: { $gt: '' } } })

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
  created_at: Date,
  save_id: String,
  erased_at: Date,
  erased_by: String
}, { collection: 'revisions', versionKey: false, strict: 'throw', strictQuery: 'throw' })

revisionSchema.index({ page: 1, revision: -1 }, { unique: true })
revisionSchema.index({ author: 1, _id: -1 })
revisionSchema.index({ page: 1, _id: -1 })
revisionSchema.index({ page: 1, save_id: 1 }, { partialFilterExpression: { save_id: { $gt: '' } } })

/**
 * Finds orphaned pages (without incoming links) and wanted names (linked to, not written). Two transactions conflict if
 * one counts a link to the page that the other creates, see counts.js.
 * @typedef {object} Target
 * @property {string} _id  the name
 * @property {'page' | 'redirect' | null} is  what exists under the name
 * @property {number} sources  number of pages that link to it and of former names that redirect to it; below 0 for a
 *   moment when edits are counted in another order
 * @property {string} [below]  unique mark of the last change of its subpages, see subpages.js
 * @property {string} [short_linked]  unique mark of the last short address of it, see short-links/store.js
 */
const targetSchema = new mongoose.Schema({
  _id: String,
  is: String,
  sources: Number,
  below: String,
  short_linked: String
}, { collection: 'targets', versionKey: false, strict: 'throw', strictQuery: 'throw' })
targetSchema.index({ is: 1, sources: -1, _id: 1 }, { name: 'by_sources_and_name', collation: NAME_ORDER })
// For a random page, see read-names.js.
targetSchema.index({ is: 1, _id: 'hashed' }, { name: 'by_hash' })

/**
 * @typedef {object} Tag
 * @property {string} _id  canonical
 * @property {number} pages  number of pages that have it
 */
const tagSchema = new mongoose.Schema({
  _id: String,
  pages: Number
}, { collection: 'tags', versionKey: false, strict: 'throw', strictQuery: 'throw' })
// On `_id` alone, the database allows no other collation than its own.
tagSchema.index({ _id: 1, pages: 1 }, { name: 'by_name', collation: NAME_ORDER })

/**
 * @param {import('mongoose').Connection} connection
 * @param {string} [prefix]  of the collections, where pages are stored apart, see spaces/: without indexes at a start
 */
export const defineModels = (connection, prefix = '') => {
  const define = (/** @type {string} */ name, /** @type {mongoose.Schema} */ schema) => {
    const own = prefix === '' ? schema : schema.clone().set('autoIndex', false)
    return /** @type {unknown} */ (connection.model(prefix + name, own, prefix + schema.get('collection')))
  }
  return {
    Pages: /** @type {Model<Page>} */ (define('Page', pageSchema)),
    Revisions: /** @type {Model<Revision>} */ (define('Revision', revisionSchema)),
    Targets: /** @type {Model<Target>} */ (define('Target', targetSchema)),
    Tags: /** @type {Model<Tag>} */ (define('Tag', tagSchema))
  }
}

/** @typedef {ReturnType<typeof defineModels>} Models */
