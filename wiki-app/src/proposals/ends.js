import mongoose from 'mongoose'
import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'
import { createActorOf } from '../people/actor.js'
import { PUBLIC } from '../protection/scope.js'
import { proposalsUrl } from './addresses.js'
import { ProposalClosed, ProposalMissing } from './errors.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {InScope, Scope} from '../protection/scope.js' */
/** @import {Proposal} from './model.js' */
/** @import {ProposalItem} from './proposals.js' */

export const ITEM_FIELDS = { content: 0 }

/**
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {import('mongoose').Model<Proposal>} model
 * @property {Audit} audit
 * @property {(name: string) => boolean} isInFile  whether USERS_FILE has that person
 * @property {Scope} [scope]
 */

/**
 * What becomes of proposals. Each end, with its line of the audit log, is one transaction: of two at once, one comes
 * too late.
 * @param {Parts} parts
 */
export function createEnds ({ connection, model, audit, isInFile, scope = PUBLIC }) {
  const proposals = driverOf(model)
  const actorOf = createActorOf(isInFile)

  /** A filter. @param {Person} person @returns {InScope & {author_key: string}} */
  const ownOf = (person) => ({ ...scope.of(person), author_key: userKey(person.name) })

  /** A filter. @param {Person} person  administrators see all, others their own @returns {InScope} */
  const seenBy = (person) => person.role === 'admin' ? scope.of(person) : ownOf(person)

  /**
   * @param {string} id @param {InScope & {author_key?: string}} filter @param {object} fields
   * @param {ClientSession} session
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
    if (closed === null) throw new ProposalMissing(proposalsUrl(filter.space))
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
    await audit.add(actorOf(person), { did: changed ? 'published-changed' : 'published' }, name, session)
  }

  return {
    end,

    seenBy,

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
    decline: (id, person, reason) => audit.during(actorOf(person), { did: 'declined', reason }, (session) =>
      end(id, scope.of(person), { state: 'declined', closed_by: person.name, reason }, session)),

    /** @param {string} id @param {Person} person  its author @throws {Error} 404, 409 */
    withdraw: (id, person) => inTransaction(connection, (session) =>
      end(id, ownOf(person), { state: 'withdrawn', closed_by: person.name }, session))
  }
}
