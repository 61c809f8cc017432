import mongoose from 'mongoose'
import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'
import { ProposalClosed, ProposalMissing } from './errors.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {Proposal} from './model.js' */
/** @import {ProposalItem} from './proposals.js' */

export const ITEM_FIELDS = { content: 0 }

/** A filter. @param {Person} person  administrators see all, others their own */
export const seenBy = ({ name, role }) => role === 'admin' ? {} : { author_key: userKey(name) }

/**
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {import('mongoose').Model<Proposal>} model
 * @property {Audit} audit
 * @property {(name: string) => boolean} isInFile  whether USERS_FILE has that person
 */

/**
 * What becomes of proposals. Each end, with its line of the audit log, is one transaction: of two at once, one comes
 * too late.
 * @param {Parts} parts
 */
export function createEnds ({ connection, model, audit, isInFile }) {
  const proposals = driverOf(model)
  const actorOf = (/** @type {string} */ name) => ({ name, inFile: isInFile(name) })

  /**
   * @param {string} id @param {object} filter @param {object} fields @param {ClientSession} session
   * @returns {Promise<ProposalItem>} as it was @throws {Error} 404, 409
   */
  async function end (id, filter, fields, session) {
    const key = { _id: new mongoose.Types.ObjectId(id), ...filter }
    const update = { $set: { ...fields, closed_at: new Date() } }
    const open = await proposals.findOneAndUpdate({ ...key, state: 'open' }, update, {
      session, projection: ITEM_FIELDS
    })
    if (open !== null) return /** @type {ProposalItem} */ (open)
    const closed = await proposals.findOne(key, { session, projection: ITEM_FIELDS })
    if (closed === null) throw new ProposalMissing()
    throw new ProposalClosed(closed.state)
  }

  /**
   * In the transaction that publishes.
   * @param {string} id @param {Person} person  an administrator, or its author @param {{changed: boolean}} how
   * @param {{name: string, revision: number}} published @param {ClientSession} session
   * @throws {Error} 403, 404, 409
   */
  async function endPublished (id, person, { changed }, { name, revision }, session) {
    const fields = { state: 'published', closed_by: person.name, name, revision, content: '' }
    await end(id, seenBy(person), fields, session)
    if (person.role !== 'admin') return
    await audit.add(actorOf(person.name), { did: changed ? 'published-changed' : 'published' }, name, session)
  }

  return {
    end,

    endPublished,

    /**
     * Of what the page says already.
     * @param {string} id @param {Person} person @param {{name: string, revision: number}} published
     * @throws {Error} as `endPublished`
     */
    endAsSaved: (id, person, published) => inTransaction(connection, (session) =>
      endPublished(id, person, { changed: false }, published, session)),

    /**
     * @param {string} id @param {Person} person  an administrator @param {string} reason
     * @throws {Error} 403, 404, 409
     */
    decline: (id, { name }, reason) => audit.during(actorOf(name), { did: 'declined', reason }, (session) =>
      end(id, {}, { state: 'declined', closed_by: name, reason }, session)),

    /** @param {string} id @param {Person} person  its author @throws {Error} 404, 409 */
    withdraw: (id, { name }) => inTransaction(connection, (session) =>
      end(id, { author_key: userKey(name) }, { state: 'withdrawn', closed_by: name }, session))
  }
}
