import mongoose from 'mongoose'

/** @import {Connection, Model} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */

/**
 * Which role changes a page, or a page with all its subpages.
 * @typedef {object} Rule
 * @property {string} _id  canonical name of the page, which need not exist
 * @property {string} [space]  the private space of that name
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

const spaceRule = rule.clone().add({ space: String }).set('autoIndex', false)
spaceRule.index({ space: 1, _id: 1 })

/** @param {Connection} connection */
export const defineRules = (connection) =>
  /** @type {Model<Rule>} */ (/** @type {unknown} */ (connection.model('Protection', rule)))

/** Without indexes at a start, see spaces/spaces.js. @param {Connection} connection */
export const defineSpaceRules = (connection) =>
  /** @type {Model<Rule>} */ (/** @type {unknown} */ (
    connection.model('space_Protection', spaceRule, 'space_protections')))

/** @typedef {ReturnType<typeof defineRules>} Rules */
