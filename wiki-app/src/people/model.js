import mongoose from 'mongoose'

/** @typedef {import('../access/roles.js').Role} Role */

/**
 * Somebody whom the wiki knows by name. Those of USERS_FILE have no document.
 * @typedef {object} Member
 * @property {string} _id  the key of the name (access/users.js)
 * @property {string} name  what the history shows
 * @property {Role} role
 * @property {string} password  a hash from `hashPassword`; '': none yet
 * @property {string} [identity]  issuer and subject of OpenID Connect, with a blank between: signs in there
 * @property {Token[]} tokens  for programs
 * @property {Date | null} blocked_at  not null: neither the password nor a token works
 * @property {{sha256: string, expires_at: Date, by: string} | null} link  lets its owner choose a password, once; `by`:
 *   key of the administrator that made it
 * @property {{address: string, key: string}} [mail]  confirmed: where a link for a new password may go
 * @property {{sha256: string, expires_at: Date}[]} [resets]  such links, each for an hour, until one is used
 * @property {Date} created_at
 * @property {Date | null} acted_at  when this administrator last changed somebody else, see members.js
 */

/** @typedef {{label: string, sha256: string, created_at: Date}} Token */

/**
 * What an administrator did, or that a person came from the provider.
 * @typedef {object} Act
 * @property {import('mongoose').Types.ObjectId} _id
 * @property {Date} at
 * @property {string} actor  name
 * @property {string} did  see ACTS in audit-routes.js
 * @property {string} to  name, of a person or of a page
 * @property {string} [role]
 * @property {string} [revisions]  that were erased
 * @property {string} [reason]
 */

/** Two years: long enough to look something up, and what is known of people does not grow for ever. */
const AUDIT_KEPT_S = 2 * 365 * 86_400

const options = /** @type {const} */ ({ versionKey: false, strict: 'throw', strictQuery: 'throw' })

const member = new mongoose.Schema({
  _id: String,
  name: String,
  role: String,
  password: String,
  identity: String,
  tokens: [new mongoose.Schema({ label: String, sha256: String, created_at: Date }, { _id: false })],
  blocked_at: Date,
  link: new mongoose.Schema({ sha256: String, expires_at: Date, by: String }, { _id: false }),
  mail: new mongoose.Schema({ address: String, key: String }, { _id: false }),
  resets: [new mongoose.Schema({ sha256: String, expires_at: Date }, { _id: false })],
  created_at: Date,
  acted_at: Date
}, { collection: 'members', ...options })
member.index({ 'tokens.sha256': 1 })
member.index({ 'link.sha256': 1 })
member.index({ 'link.by': 1 })
member.index({ 'mail.key': 1 }, { sparse: true })
member.index({ 'resets.sha256': 1 }, { sparse: true })
member.index({ identity: 1 }, { unique: true, partialFilterExpression: { identity: { $exists: true } } })

/**
 * A removed person's identity, or one that a link replaced: it comes back with an invitation alone.
 * @typedef {{_id: string, removed_at: Date}} Removed  `_id`: SHA-256 of the identity
 */
const removed = new mongoose.Schema({ _id: String, removed_at: Date }, { collection: 'removed_identities', ...options })

const act = new mongoose.Schema(
  { at: Date, actor: String, did: String, to: String, role: String, revisions: String, reason: String },
  { collection: 'audit', ...options }
)
act.index({ at: 1 }, { expireAfterSeconds: AUDIT_KEPT_S })

/** @param {import('mongoose').Connection} connection */
export const definePeople = (connection) => /** @type {PeopleModels} */ (/** @type {unknown} */ ({
  Members: connection.model('Member', member),
  Audit: connection.model('Act', act),
  Removed: connection.model('RemovedIdentity', removed)
}))

/** @template T @typedef {import('mongoose').Model<T>} Model */
/** @typedef {{Members: Model<Member>, Audit: Model<Act>, Removed: Model<Removed>}} PeopleModels */
