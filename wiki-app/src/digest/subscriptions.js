import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { asIdsHave } from '../watching/read-marks.js'
import { createConfirmations, createSecret } from './confirmations.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {Wish} from './confirmations.js' */
/** @import {Confirmation, Digest, DigestModels, Interval} from './model.js' */

/**
 * `waiting`: for the link in a mail to be opened. `problem`: what the server for mail said, as a code.
 * @typedef {object} DigestState
 * @property {'off' | 'on' | 'ended'} state  `ended`: its mailbox refused too many mails
 * @property {string | null} address
 * @property {Interval | null} every
 * @property {string | null} problem
 * @property {{address: string, every: Interval, sent: boolean, problem: string | null} | null} waiting
 */

/**
 * Which digests people want, and where.
 * @param {{connection: Connection, models: DigestModels, users: Users, intervalMs: Record<Interval, number>,
 *   added: () => void}} parts  `added`: there is a mail to send
 */
export function createSubscriptions ({ connection, models, users, intervalMs, added }) {
  const digests = driverOf(models.Digests)
  const confirmations = createConfirmations({ connection, models, users, added })

  /** @param {string} user  key @param {string} address @param {Interval} every @returns {Promise<boolean>} */
  async function changeInterval (user, address, every) {
    const { matchedCount } = await digests.updateOne(
      { _id: user, address, ended_at: { $exists: false } },
      { $set: { every }, $min: { due_at: new Date(Date.now() + intervalMs[every]) } }
    )
    return matchedCount > 0
  }

  /** @param {string} user  key @param {Wish} wish @param {ClientSession} session */
  function begin (user, { address, every = 'daily' }, session) {
    const now = new Date()
    return digests.replaceOne({ _id: user }, {
      address,
      every,
      stop: createSecret(),
      sent_up_to: asIdsHave(now),
      due_at: new Date(now.getTime() + intervalMs[every]),
      claim: null,
      failures: 0,
      refusals: 0
    }, { upsert: true, session })
  }

  return {
    /** @param {string} user  name @returns {Promise<DigestState>} */
    async of (user) {
      const _id = userKey(user)
      const [digest, confirmation] = await Promise.all([digests.findOne({ _id }), confirmations.of(_id)])
      return { ...shownDigest(digest), waiting: shownWaiting(confirmation) }
    },

    /**
     * An address is confirmed first, unless it is the one that is confirmed.
     * @param {string} user  name @param {{address: string, every: Interval}} wish @throws {Error} 429
     */
    async ask (user, { address, every }) {
      const _id = userKey(user)
      if (await changeInterval(_id, address, every)) await confirmations.forget(_id)
      else await confirmations.ask(_id, address, every)
    },

    /** @param {string} user  name */
    async end (user) {
      const _id = userKey(user)
      await Promise.all([digests.deleteOne({ _id }), confirmations.forget(_id)])
    },

    findWish: confirmations.find,

    /** @param {string} secret  of a link @returns {Promise<Wish | null>} null: it is used, expired or unknown */
    confirm: (secret) => confirmations.confirm(secret, begin),

    /** @param {string} secret  of a mail @returns {Promise<{address: string} | null>} */
    findStop: (secret) => digests.findOne({ stop: secret }, { projection: { address: 1 } }),

    /** @param {string} secret  of a mail @returns {Promise<boolean>} false: there is none, or it has ended */
    async stop (secret) {
      const { deletedCount } = await digests.deleteOne({ stop: secret })
      return deletedCount > 0
    }
  }
}

/** @typedef {ReturnType<typeof createSubscriptions>} Subscriptions */

/** @param {Digest | null} digest @returns {Omit<DigestState, 'waiting'>} */
function shownDigest (digest) {
  if (digest === null) return { state: 'off', address: null, every: null, problem: null }
  const { address, every, problem = null, ended_at: endedAt } = digest
  return { state: endedAt === undefined ? 'on' : 'ended', address, every, problem }
}

/** @param {Confirmation | null} confirmation @returns {DigestState['waiting']} */
function shownWaiting (confirmation) {
  const { address, every, problem = null, sent_at: sentAt, expires_at: expiresAt } = confirmation ?? {}
  if (address === undefined || every === undefined || Number(expiresAt) <= Date.now()) return null
  return { address, every, sent: sentAt !== undefined, problem }
}
