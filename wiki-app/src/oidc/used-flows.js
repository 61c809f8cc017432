import mongoose from 'mongoose'
import { sha256 } from '../access/users.js'
import { driverOf } from '../database/driver.js'

const DUPLICATE_KEY = 11_000

/** @typedef {{_id: string, expires_at: Date}} Used  `_id`: SHA-256 of the state */

const schema = new mongoose.Schema(
  { _id: String, expires_at: Date },
  { collection: 'used_sign_ins', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)
schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/**
 * So that a return from the provider counts once, in all processes of the wiki.
 * @param {import('mongoose').Connection} connection
 */
export function createUsedFlows (connection) {
  const used = driverOf(/** @type {import('mongoose').Model<Used>} */ (
    /** @type {unknown} */ (connection.model('UsedSignIn', schema))))
  return {
    /** @param {import('./flow-cookie.js').Flow} flow @returns {Promise<boolean>} false: it was used before */
    async use ({ state, endsAtMs }) {
      try {
        await used.insertOne({ _id: sha256(state), expires_at: new Date(endsAtMs) })
        return true
      } catch (error) {
        if (/** @type {{code?: unknown}} */ (error).code === DUPLICATE_KEY) return false
        throw error
      }
    }
  }
}

/** @typedef {ReturnType<typeof createUsedFlows>} UsedFlows */
