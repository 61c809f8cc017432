import mongoose from 'mongoose'

/** @import {Connection, Model} from 'mongoose' */

export const STATES = /** @type {const} */ (['open', 'published', 'declined', 'withdrawn'])
/** @typedef {(typeof STATES)[number]} State */

/**
 * A text that waits until an administrator publishes it. It never changes: its author proposes again instead, so an
 * administrator publishes what was shown.
 * @typedef {object} Proposal
 * @property {import('mongoose').Types.ObjectId} _id  grows with time
 * @property {string} name  of the page; of a renamed one, the name under which it was published
 * @property {string} [space]  the private space of that name
 * @property {number} base_revision  of the page that the author has seen; 0: there was none
 * @property {string} content  Markdown; '' once it is published, where an erasure finds it, or proposed again
 * @property {string[] | null} tags  null: the page keeps its tags
 * @property {string} summary  may be ''
 * @property {string} author
 * @property {string} author_key  see access/users.js
 * @property {State} state
 * @property {Date} at
 * @property {Date} [closed_at]  absent: it is open
 * @property {string} [closed_by]  name
 * @property {string} [reason]  why it was declined
 * @property {number} [revision]  that it became
 * @property {import('mongoose').Types.ObjectId} [replaced_by]  the proposal that the author made of this one
 */

/** Long enough to read the outcome, and to propose again. */
export const CLOSED_KEPT_S = 90 * 86_400

const proposal = new mongoose.Schema({
  name: String,
  base_revision: Number,
  content: String,
  tags: mongoose.Schema.Types.Mixed,
  summary: String,
  author: String,
  author_key: String,
  state: String,
  at: Date,
  closed_at: Date,
  closed_by: String,
  reason: String,
  revision: Number,
  replaced_by: mongoose.Schema.Types.ObjectId
}, { collection: 'proposals', versionKey: false, strict: 'throw', strictQuery: 'throw' })
proposal.index({ state: 1, _id: 1 })
proposal.index({ author_key: 1, _id: -1 })
proposal.index({ closed_at: 1 }, { expireAfterSeconds: CLOSED_KEPT_S })

/** All that is looked for is of one space. */
const spaceProposal = proposal.clone().clearIndexes().add({ space: String }).set('autoIndex', false)
spaceProposal.index({ space: 1, state: 1, _id: 1 })
spaceProposal.index({ author_key: 1, space: 1, _id: -1 })
spaceProposal.index({ closed_at: 1 }, { expireAfterSeconds: CLOSED_KEPT_S })

/** @param {Connection} connection */
export const defineProposals = (connection) =>
  /** @type {Model<Proposal>} */ (/** @type {unknown} */ (connection.model('Proposal', proposal)))

/** Without indexes at a start, see spaces/spaces.js. @param {Connection} connection */
export const defineSpaceProposals = (connection) =>
  /** @type {Model<Proposal>} */ (/** @type {unknown} */ (
    connection.model('space_Proposal', spaceProposal, 'space_proposals')))
