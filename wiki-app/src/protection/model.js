import mongoose from 'mongoose'

/** @import {Role} from '../access/roles.js' */

/**
 * Which role changes a page, or a page with all its subpages.
 * @typedef {object} Rule
 * @property {string} _id  canonical name of the page, which need not exist
 * @property {boolean} subpages  whether the rule covers the names below, too
 * @property {Role} role  the least one
 * @property {boolean} [review]  whether texts of others wait until somebody of that role publishes them
 * @property {string} reason  may be ''
 * @property {Date} at
 */

const rule = new mongoose.Schema(
  { _id: String, subpages: Boolean, role: String, review: Boolean, reason: String, at: Date },
  { collection: 'protections', versionKey: false, strict: 'throw', strictQuery: 'throw' }
)

/** @param {import('mongoose').Connection} connection */
export const defineRules = (connection) =>
  /** @type {import('mongoose').Model<Rule>} */ (/** @type {unknown} */ (connection.model('Protection', rule)))

/** @typedef {ReturnType<typeof defineRules>} Rules */
