import mongoose from 'mongoose'
import { defineModels } from '../pages/model.js'
import { defineSpaceProposals } from '../proposals/model.js'
import { defineSpaceRules } from '../protection/model.js'

/** @import {Connection, Model} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */

/**
 * A name, and all names below it, with their talk pages: their pages are stored apart, and groups have roles in it.
 * Spaces do not overlap.
 * @typedef {object} Space
 * @property {string} _id  canonical name
 * @property {'opening' | 'open' | 'closing'} state  in the other two no page is written, nowhere
 * @property {{group: string, role: Role}[]} grants  `group`: its key
 * @property {Date} at
 * @property {number} [uploads]  so far: each is written while the space is open
 * @property {number} [reviewed]  rules and proposals so far, likewise
 */

/**
 * @typedef {object} Group
 * @property {string} _id  key: its name without letter case
 * @property {string} name
 * @property {{key: string, name: string}[]} members  `key`: see access/users.js
 * @property {Date} at
 */

const options = /** @type {const} */ ({ versionKey: false, strict: 'throw', strictQuery: 'throw' })

const space = new mongoose.Schema({
  _id: String,
  state: String,
  grants: [new mongoose.Schema({ group: String, role: String }, { _id: false })],
  at: Date,
  uploads: Number,
  reviewed: Number
}, { collection: 'spaces', ...options })

const group = new mongoose.Schema({
  _id: String,
  name: String,
  members: [new mongoose.Schema({ key: String, name: String }, { _id: false })],
  at: Date
}, { collection: 'groups', ...options })

/** Of the collections with the pages of all spaces. */
const PREFIX = 'space_'

/** @param {Connection} connection */
export const defineSpaces = (connection) => ({
  Spaces: /** @type {Model<Space>} */ (/** @type {unknown} */ (connection.model('Space', space))),
  Groups: /** @type {Model<Group>} */ (/** @type {unknown} */ (connection.model('Group', group))),
  Rules: defineSpaceRules(connection),
  Proposals: defineSpaceProposals(connection),
  inside: defineModels(connection, PREFIX)
})

/** @typedef {ReturnType<typeof defineSpaces>} SpaceModels */
