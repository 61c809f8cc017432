import mongoose from 'mongoose'

export const INTERVALS = /** @type {const} */ (['daily', 'hourly'])
/** @typedef {(typeof INTERVALS)[number]} Interval */

/**
 * What a process works on, see claims.js.
 * @typedef {object} Job
 * @property {string} _id  the user's key (access/users.js)
 * @property {Date} [due_at]  while it is claimed: the end of the claim; missing: nothing is to be done
 * @property {import('mongoose').Types.ObjectId | null} claim  of the process that works on it
 * @property {number} failures  one after the other
 * @property {string} [problem]  the last failure, without an address
 */

/**
 * The mails that a person gets. Small documents of their own: a list of what somebody watches is up to 600 kB long, and
 * MongoDB writes a document as a whole.
 * @typedef {object} OfDigest
 * @property {string} address  confirmed
 * @property {Interval} every
 * @property {string} stop  the secret of the link in each mail that ends the digest
 * @property {Date} sent_up_to  changes before it were in earlier mails, or are none of this digest; whole seconds
 * @property {Date} [up_to]  the end of the mail that is being sent: the same at each attempt
 * @property {number} refusals  of the mailbox, one after the other
 * @property {Date} [ended_at]  refused too often
 * @typedef {Job & OfDigest} Digest
 */

/**
 * An address that is not confirmed yet. It stays for a day after that, so that mails to strangers are counted.
 * @typedef {object} OfConfirmation
 * @property {string} [address]
 * @property {Interval} [every]  of a digest
 * @property {string[]} tokens  SHA-256 of the secrets in the links that were sent
 * @property {Date[]} asked  for mails, within a day
 * @property {Date} [sent_at]
 * @property {Date} expires_at
 * @typedef {Job & OfConfirmation} Confirmation
 */

const job = { _id: String, due_at: Date, claim: mongoose.Schema.Types.ObjectId, failures: Number, problem: String }
const options = /** @type {const} */ ({ versionKey: false, strict: 'throw', strictQuery: 'throw' })

const digest = new mongoose.Schema({
  ...job,
  address: String,
  every: String,
  stop: String,
  sent_up_to: Date,
  up_to: Date,
  refusals: Number,
  ended_at: Date
}, { collection: 'digests', ...options })
digest.index({ due_at: 1 })
digest.index({ stop: 1 })

/** @param {string} collection */
export function confirmationSchema (collection) {
  const confirmation = new mongoose.Schema({
    ...job,
    address: String,
    every: String,
    tokens: [String],
    asked: [Date],
    sent_at: Date,
    expires_at: Date
  }, { collection, ...options })
  confirmation.index({ due_at: 1 })
  confirmation.index({ tokens: 1 })
  confirmation.index({ expires_at: 1 }, { expireAfterSeconds: 0 })
  return confirmation
}
const confirmation = confirmationSchema('digest_confirmations')

/** @param {import('mongoose').Connection} connection */
export const defineDigests = (connection) => /** @type {DigestModels} */ (/** @type {unknown} */ ({
  Digests: connection.model('Digest', digest), Confirmations: connection.model('DigestConfirmation', confirmation)
}))

/**
 * @typedef {{Digests: import('mongoose').Model<Digest>, Confirmations: import('mongoose').Model<Confirmation>}}
 *   DigestModels
 */
