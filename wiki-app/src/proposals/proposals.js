import mongoose from 'mongoose'
import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { PUBLIC } from '../protection/scope.js'
import { proposalsUrl } from './addresses.js'
import { createEnds, ITEM_FIELDS } from './ends.js'
import {
  OPEN_MAX, OPEN_OF_PERSON_MAX, ProposalClosed, ProposalMissing, TooManyOfYours, TooManyProposals
} from './errors.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {InScope} from '../protection/scope.js' */
/** @import {Parts} from './ends.js' */
/** @import {Proposal} from './model.js' */

/** @typedef {Omit<Proposal, 'content'>} ProposalItem */
/** @typedef {Pick<Proposal, 'name' | 'base_revision' | 'content' | 'tags' | 'summary'>} Proposed */

/** Texts that wait for a review. @param {Parts} parts */
export function createProposals ({ connection, model, audit, isInFile, scope = PUBLIC }) {
  const proposals = driverOf(model)
  const runExclusive = createKeyedMutex()
  const { end, seenBy, ...ends } = createEnds({ connection, model, audit, isInFile, scope })

  /** @param {Proposal} added @param {InScope} placed @param {ClientSession} session @throws {Error} 409 */
  async function refuseTooMany ({ author_key: key }, placed, session) {
    const own = await proposals.countDocuments(
      { ...placed, author_key: key, state: 'open' }, { session, limit: OPEN_OF_PERSON_MAX + 1 })
    if (own > OPEN_OF_PERSON_MAX) throw new TooManyOfYours(proposalsUrl(placed.space))
    const all = await proposals.countDocuments({ ...placed, state: 'open' }, { session, limit: OPEN_MAX + 1 })
    if (all > OPEN_MAX) throw new TooManyProposals()
  }

  return {
    /**
     * The processes of a wiki count at the same time, so each of them may add one more than the limits say.
     * @param {string} author  name @param {Proposed} proposed
     * @param {string} [replaced]  id of a proposal of the same author, which is withdrawn if it is open
     * @returns {Promise<Proposal>} @throws {Error} 403, 409
     */
    add: (author, proposed, replaced) => runExclusive('add', () => inTransaction(connection, async (session) => {
      const key = userKey(author)
      // Administrators propose nothing.
      const placed = await scope.enter(proposed.name, { name: author, role: 'editor' }, 'editor', session)
      const added = /** @type {Proposal} */ ({
        _id: new mongoose.Types.ObjectId(),
        ...proposed,
        ...placed,
        author,
        author_key: key,
        state: 'open',
        at: new Date()
      })
      if (replaced !== undefined) {
        const fields = { state: 'withdrawn', closed_by: author, content: '', replaced_by: added._id }
        await end(replaced, { ...placed, author_key: key }, fields, session).catch((error) => {
          if (!(error instanceof ProposalClosed)) throw error
        })
      }
      await proposals.insertOne(added, { session })
      await refuseTooMany(added, placed, session)
      return added
    })),

    /**
     * @param {string} id @param {Person} person  administrators see all, others their own
     * @returns {Promise<Proposal>} @throws {Error} 404
     */
    async find (id, person) {
      const found = await proposals.findOne({ _id: new mongoose.Types.ObjectId(id), ...seenBy(person) })
      if (found === null) throw new ProposalMissing(proposalsUrl(person.space))
      return /** @type {Proposal} */ (found)
    },

    /**
     * For administrators the open ones, oldest first; for others their own, newest first.
     * @param {Person} person @param {{after?: string, limit: number}} part  `after`: id of the last one seen
     * @returns {Promise<{items: ProposalItem[], more: boolean}>}
     */
    async list (person, { after, limit }) {
      const isAdmin = person.role === 'admin'
      const id = after === undefined
        ? {}
        : { _id: { [isAdmin ? '$gt' : '$lt']: new mongoose.Types.ObjectId(after) } }
      const found = await proposals.find({ ...seenBy(person), ...isAdmin && { state: 'open' }, ...id }, {
        sort: { _id: isAdmin ? 1 : -1 }, limit: limit + 1, projection: ITEM_FIELDS
      }).toArray()
      return { items: /** @type {ProposalItem[]} */ (found.slice(0, limit)), more: found.length > limit }
    },

    /** @param {Person} person  an administrator: of the wiki, or of the space */
    countOpen: (person) =>
      proposals.countDocuments({ ...scope.of(person), state: 'open' }, { limit: OPEN_MAX }),

    ...ends
  }
}

/** @typedef {ReturnType<typeof createProposals>} Proposals */
