import mongoose from 'mongoose'

/** @typedef {{name: string, since: Date}} Watched */
/**
 * `history`: key of the page's history (pages/histories.js), which stays when the page is renamed. Without it, the page
 * is yet to be found by its name. `until`: from then on it is not watched, and the next reader of the list removes it.
 * @typedef {Watched & {history?: string, until?: Date}} WatchedPage
 */

/**
 * What one person watches, and what of it is read. Bounded, so it is one document (see watch-list.js).
 * @typedef {object} Watcher
 * @property {string} _id  the user's key (access/users.js)
 * @property {WatchedPage[]} pages
 * @property {Watched[]} authors
 * @property {Date} read_before  changes before this time are read
 * @property {import('mongoose').Types.ObjectId[]} read  later ones that are read, too
 * @property {string} [feed]  SHA-256 of the secret in the feed's address: a reader of the database cannot use it
 */

const watched = { name: String, since: Date }
const listOf = (/** @type {Record<string, any>} */ fields) => [new mongoose.Schema(fields, { _id: false })]
const schema = new mongoose.Schema({
  _id: String,
  pages: listOf({ ...watched, history: String, until: Date }),
  authors: listOf(watched),
  read_before: Date,
  read: [mongoose.Schema.Types.ObjectId],
  feed: String
}, { collection: 'watchers', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ feed: 1 }, { partialFilterExpression: { feed: { $gt: '' } } })

/** @typedef {import('mongoose').Model<Watcher>} Watchers */

/** @param {import('mongoose').Connection} connection */
export const defineWatchers = (connection) => /** @type {Watchers} */ (
  /** @type {unknown} */ (connection.model('Watcher', schema)))

/** No feed has private pages, so it finds no watcher of them. */
const ofSpaces = schema.clone().set('collection', 'space_watchers').clearIndexes()

/** What people watch in private spaces: pages alone. @param {import('mongoose').Connection} connection */
export const defineSpaceWatchers = (connection) => /** @type {Watchers} */ (
  /** @type {unknown} */ (connection.model('SpaceWatcher', ofSpaces)))
