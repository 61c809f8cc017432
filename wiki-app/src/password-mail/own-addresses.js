import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { createConfirmations } from '../digest/confirmations.js'
import { mailKey } from './requests.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {PeopleModels} from '../people/model.js' */
/** @import {PasswordMailModels} from './model.js' */

/**
 * `waiting`: for the link in a mail to be opened. `problem`: what the server for mail said, as a code.
 * @typedef {{address: string, sent: boolean, problem: string | null}} Waiting
 * @typedef {{address: string | null, waiting: Waiting | null}} OwnAddress
 */

/**
 * Where people get links for new passwords. An address is confirmed as that of a digest is. The digest's own does not
 * count by itself: a session or a token that was stolen can change it, and would so become a password.
 * @param {{connection: Connection, models: Pick<PasswordMailModels, 'Confirmations'> & Pick<PeopleModels, 'Members'>,
 *   users: Users, added: () => void}} parts  `added`: there is a mail to send
 */
export function createOwnAddresses ({ connection, models, users, added }) {
  const members = driverOf(models.Members)
  const digests = /** @type {import('mongoose').mongo.Collection<any>} */ (
    /** @type {unknown} */ (connection.collection('digests')))
  const confirmations = createConfirmations({ connection, models, users, added })

  /** @param {string} user  key @param {string} address @param {ClientSession} [session] */
  const keep = (user, address, session) => members.updateOne(
    { _id: user }, { $set: { mail: { address, key: mailKey(address) }, resets: [] } }, { session }
  )

  return {
    /** @param {string} user  name @returns {Promise<OwnAddress>} */
    async of (user) {
      const _id = userKey(user)
      const [member, confirmation] = await Promise.all([members.findOne({ _id }), confirmations.of(_id)])
      const { address, problem = null, sent_at: sentAt, expires_at: expiresAt } = confirmation ?? {}
      const waits = address !== undefined && Number(expiresAt) > Date.now()
      return {
        address: member?.mail?.address ?? null,
        waiting: waits ? { address, sent: sentAt !== undefined, problem } : null
      }
    },

    /**
     * The present password was checked. An address is confirmed first, unless a digest goes there.
     * @param {string} user  name @param {string} address @throws {Error} 429
     */
    async ask (user, address) {
      const _id = userKey(user)
      const isConfirmed = await digests.findOne({ _id, address }, { projection: { _id: 1 } }) !== null
      if (!isConfirmed) return confirmations.ask(_id, address)
      await keep(_id, address)
      await confirmations.forget(_id)
    },

    /** Links that were sent there end. @param {string} user  name @param {string} address */
    async forget (user, address) {
      const _id = userKey(user)
      await Promise.all([
        members.updateOne({ _id, 'mail.address': address }, { $unset: { mail: '' }, $set: { resets: [] } }),
        confirmations.forget(_id)
      ])
    },

    findWish: confirmations.find,

    /** @param {string} secret  of a link @returns {ReturnType<typeof confirmations.find>} */
    confirm: (secret) => confirmations.confirm(secret, (user, { address }, session) => keep(user, address, session))
  }
}

/** @typedef {ReturnType<typeof createOwnAddresses>} OwnAddresses */
