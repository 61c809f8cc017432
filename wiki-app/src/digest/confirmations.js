import { randomBytes } from 'node:crypto'
import createError from '@fastify/error'
import { sha256 } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'
import { retryAfter } from '../http/retry-after.js'
import { englishDuration } from '../readable.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {Confirmation, DigestModels, Interval} from './model.js' */

const SECRET_BYTES = 32
const LINK_MAX_MS = 86_400_000
/** Mails to addresses that nobody has confirmed, of each person within a day. */
const ASKED_MAX = 3

const AskedTooOften = createError(
  'WIKI_DIGEST_ASKED_TOO_OFTEN',
  `You had ${ASKED_MAX} mails with a link sent within a day, so this one is not. Try again in %s.`,
  429
)

/** @typedef {{user: string, address: string, every?: Interval}} Wish  `user`: name; `every`: of a digest */

export const createSecret = () => randomBytes(SECRET_BYTES).toString('base64url')

/** What was asked is counted still. @type {any} */
const NOTHING_WAITS = {
  $set: { tokens: [], claim: null, failures: 0 },
  $unset: { address: '', every: '', due_at: '', sent_at: '', problem: '' }
}

/**
 * A mail goes to an address once its owner has opened a link in a mail to it. All users are keys (access/users.js).
 * @param {{connection: Connection, models: Pick<DigestModels, 'Confirmations'>, users: Users, added: () => void}}
 *   parts  `added`: there is a mail to send
 */
export function createConfirmations ({ connection, models, users, added }) {
  const confirmations = driverOf(models.Confirmations)

  /** @param {Pick<Confirmation, '_id' | 'address' | 'every'> | null} found @returns {Promise<Wish | null>} */
  async function wishOf (found) {
    const user = found && await users.find(found._id)
    const { address, every } = found ?? {}
    return user && address !== undefined ? { user: user.name, address, ...every && { every } } : null
  }

  /** @param {string} secret */
  const confirmable = (secret) => ({ tokens: sha256(secret), expires_at: { $gt: new Date() } })

  return {
    /** @param {string} user @param {string} address @param {Interval} [every] @throws {Error} 429 */
    async ask (user, address, every) {
      const now = new Date()
      const expiresAt = new Date(now.getTime() + LINK_MAX_MS)
      await confirmations.updateOne({ _id: user }, {
        $pull: /** @type {any} */ ({ asked: { $lte: new Date(now.getTime() - LINK_MAX_MS) } }),
        $setOnInsert: { tokens: [], claim: null, failures: 0, expires_at: expiresAt }
      }, { upsert: true })
      const { matchedCount } = await confirmations.updateOne({
        _id: user, [`asked.${ASKED_MAX - 1}`]: { $exists: false }
      }, {
        $push: { asked: now },
        $set: {
          address, ...every && { every }, tokens: [], due_at: now, claim: null, failures: 0, expires_at: expiresAt
        },
        $unset: { problem: '', sent_at: '' }
      })
      if (matchedCount === 0) throw tooOften(await confirmations.findOne({ _id: user }))
      added()
    },

    /** @param {string} user @returns {Promise<Confirmation | null>} */
    of: (user) => confirmations.findOne({ _id: user }),

    /** @param {string} user */
    forget: (user) => confirmations.updateOne({ _id: user }, NOTHING_WAITS),

    /** @param {string} secret  of a link @returns {Promise<Wish | null>} null: it is used, expired or unknown */
    find: async (secret) => wishOf(await confirmations.findOne(confirmable(secret))),

    /**
     * Each secret works once.
     * @param {string} secret
     * @param {(user: string, wish: Wish, session: ClientSession) => Promise<unknown>} begin  in the same transaction
     * @returns {Promise<Wish | null>} null: as for `find`
     */
    confirm: (secret, begin) => inTransaction(connection, async (session) => {
      const found = await confirmations.findOneAndUpdate(
        confirmable(secret), NOTHING_WAITS, { session, returnDocument: 'before' }
      )
      const wish = await wishOf(found)
      if (found !== null && wish !== null) await begin(found._id, wish, session)
      return wish
    })
  }
}

/** @param {Confirmation | null} confirmation */
function tooOften (confirmation) {
  const firstMs = confirmation?.asked[0]?.getTime() ?? Date.now()
  const waitS = Math.max(1, Math.ceil((firstMs + LINK_MAX_MS - Date.now()) / 1_000))
  return retryAfter(new AskedTooOften(englishDuration(waitS)), waitS)
}
