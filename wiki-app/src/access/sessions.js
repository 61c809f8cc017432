import { randomBytes } from 'node:crypto'
import mongoose from 'mongoose'
import { sha256 } from './users.js'

/** @import {User, Users} from './users.js' */

/** Use does not extend it: a lookup stays a read, and a stolen session ends. */
export const SESSION_S = 14 * 86_400
/** One more signs out the oldest. */
const SESSIONS_PER_USER_MAX = 20
const TOKEN_BYTES = 32

/**
 * @typedef {object} Session
 * @property {string} _id  SHA-256 of the browser's token: a reader of the database cannot use the session
 * @property {string} user  name
 * @property {string} credential  SHA-256 of the password's hash: a new password ends the sessions of the old one
 * @property {Date} created_at
 * @property {Date} expires_at
 */

const schema = new mongoose.Schema(
  { _id: String, user: String, credential: String, created_at: Date, expires_at: Date },
  { collection: 'sessions', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)
// MongoDB deletes up to a minute late: https://www.mongodb.com/docs/manual/core/index-ttl/
schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })
schema.index({ user: 1, created_at: -1 })

/** @param {import('mongoose').Connection} connection @param {Users} users */
export function createSessions (connection, users) {
  const Sessions = /** @type {import('mongoose').Model<Session>} */ (
    /** @type {unknown} */ (connection.model('Session', schema))
  )
  return {
    /** @param {User} user @returns {Promise<string>} a new random token */
    async begin ({ name, password }) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      const now = Date.now()
      await Sessions.insertMany([{
        _id: sha256(token),
        user: name,
        credential: sha256(password),
        created_at: new Date(now),
        expires_at: new Date(now + 1000 * SESSION_S)
      }], { lean: true })
      /** @type {{_id: string}[]} */
      const old = await Sessions.find({ user: name }, { _id: 1 })
        .sort({ created_at: -1 })
        .skip(SESSIONS_PER_USER_MAX)
        .lean()
        .exec()
      if (old.length > 0) {
        await Sessions.deleteMany({ _id: mongoose.trusted({ $in: old.map(({ _id }) => _id) }) }).exec()
      }
      return token
    },

    /**
     * @param {string} token
     * @returns {Promise<User | null>} null: unknown or expired, or the user is gone or has a new password
     */
    async find (token) {
      const session = await Sessions.findOne({
        _id: sha256(token),
        expires_at: mongoose.trusted({ $gt: new Date() })
      }).lean().exec()
      const user = session && await users.find(session.user)
      return user && sha256(user.password) === session.credential ? user : null
    },

    /** @param {string} token */
    async end (token) {
      await Sessions.deleteOne({ _id: sha256(token) }).exec()
    }
  }
}

/** @typedef {ReturnType<typeof createSessions>} Sessions */
