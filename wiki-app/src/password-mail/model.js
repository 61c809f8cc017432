import mongoose from 'mongoose'
import { confirmationSchema } from '../digest/model.js'

/** @import {Confirmation, Job} from '../digest/model.js' */

/**
 * A mail about the password of one person: with a link for a new one, or that it was changed. One document for each
 * person and kind, so it cannot be due twice.
 * @typedef {object} OfPasswordMail
 * @property {'link' | 'changed'} kind
 * @property {string} user  key
 * @property {Date[]} [asked]  for a link, the oldest first
 * @property {Date} expires_at  then nothing is counted any more
 * @typedef {Job & OfPasswordMail} PasswordMail
 */

const passwordMail = new mongoose.Schema({
  _id: String,
  kind: String,
  user: String,
  asked: [Date],
  due_at: Date,
  claim: mongoose.Schema.Types.ObjectId,
  failures: Number,
  problem: String,
  expires_at: Date
}, { collection: 'password_mails', versionKey: false, strict: 'throw', strictQuery: 'throw' })
passwordMail.index({ due_at: 1 })
passwordMail.index({ asked: 1 })
passwordMail.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** @param {import('mongoose').Connection} connection */
export const definePasswordMails = (connection) => /** @type {PasswordMailModels} */ (/** @type {unknown} */ ({
  PasswordMails: connection.model('PasswordMail', passwordMail),
  Confirmations: connection.model('AddressConfirmation', confirmationSchema('address_confirmations'))
}))

/** @template T @typedef {import('mongoose').Model<T>} Model */
/**
 * `Confirmations`: of addresses for links, not for a digest.
 * @typedef {{PasswordMails: Model<PasswordMail>, Confirmations: Model<Confirmation>}} PasswordMailModels
 */
