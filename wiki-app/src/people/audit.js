import createError from '@fastify/error'
import mongoose from 'mongoose'
import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Act, PeopleModels} from './model.js' */

const ACTS_PER_PAGE = 100

const NoAdminAnyMore = createError('WIKI_NO_ADMIN_ANY_MORE', 'You are not an administrator any more.', 403)

/**
 * An administrator. `inFile`: of USERS_FILE; `ofSpace`: of a private space, with the role there, which is not confirmed
 * here.
 * @typedef {{name: string, inFile: boolean, ofSpace?: boolean}} Actor
 */

/**
 * What administrators did. A change and its line are one transaction.
 * @param {{connection: Connection, models: PeopleModels}} parts
 */
export function createAudit ({ connection, models }) {
  const [members, acts] = [driverOf(models.Members), driverOf(models.Audit)]

  /**
   * Also writes the actor's own document: of two administrators who end each other's role at once, one comes too late.
   * So one is always left.
   * @param {Actor} actor @param {ClientSession} session
   */
  async function confirm (actor, session) {
    if (actor.inFile || actor.ofSpace) return
    const { matchedCount } = await members.updateOne(
      { _id: userKey(actor.name), role: 'admin', blocked_at: null }, { $set: { acted_at: new Date() } }, { session }
    )
    if (matchedCount === 0) throw new NoAdminAnyMore()
  }

  return {
    /**
     * @template {{name: string}} T @param {Actor} actor
     * @param {Pick<Act, 'did' | 'role' | 'revisions' | 'reason'>} line
     * @param {(session: ClientSession) => Promise<T>} change  of the person or page that it returns; may run several
     *   times
     * @returns {Promise<T>}
     * @throws {Error} 403, and what `change` throws
     */
    during: (actor, line, change) => inTransaction(connection, async (session) => {
      await confirm(actor, session)
      const changed = await change(session)
      await acts.insertOne({ at: new Date(), actor: actor.name, to: changed.name, ...line }, { session })
      return changed
    }),

    /**
     * A line of a transaction that changes something else.
     * @param {Actor} actor @param {Pick<Act, 'did' | 'reason'>} line @param {string} name  of a page
     * @param {ClientSession} session
     * @throws {Error} 403
     */
    async add (actor, line, name, session) {
      await confirm(actor, session)
      await acts.insertOne({ at: new Date(), actor: actor.name, to: name, ...line }, { session })
    },

    /**
     * The newest first.
     * @param {string} [before]  id of an act @returns {Promise<{items: Act[], next: string | null}>}
     */
    async list (before) {
      const filter = before === undefined ? {} : { _id: { $lt: new mongoose.Types.ObjectId(before) } }
      const found = await acts.find(filter, { sort: { _id: -1 }, limit: ACTS_PER_PAGE + 1 }).toArray()
      const items = /** @type {Act[]} */ (found.slice(0, ACTS_PER_PAGE))
      return { items, next: found.length > items.length ? String(items[items.length - 1]._id) : null }
    }
  }
}

/** @typedef {ReturnType<typeof createAudit>} Audit */
