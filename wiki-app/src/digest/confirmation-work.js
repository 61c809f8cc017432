import { sha256 } from '../access/users.js'
import { MailFailure } from '../mail/failures.js'
import { createSecret } from './confirmations.js'

/** @import {Users} from '../access/users.js' */
/** @import {Claims} from './claims.js' */
/** @import {Send} from './sending.js' */
/** @import {Mail} from '../mail/mailer.js' */
/** @import {Confirmation, Interval} from './model.js' */

/** A mail that was accepted and is sent again has another link; both work. */
const TOKENS_MAX = 5

/**
 * The mail with the link that confirms an address. Only hashes of its secrets are stored, so each attempt has a secret
 * of its own.
 * @typedef {{address: string, every?: Interval, user: string, secret: string}} Asked  `user`: name
 * @param {{claims: Claims<Confirmation>, users: Users, messages: {confirmation: (asked: any) => Mail}, send: Send}}
 *   parts
 */
export function createConfirmationWork ({ claims, users, messages, send }) {
  /** @param {Confirmation} confirmation  claimed @throws {Error} the database is away, or no mail can be sent now */
  return async function workOn (confirmation) {
    const { _id, address, every, expires_at: expiresAt } = confirmation
    const user = await users.find(_id)
    if (user === null || address === undefined || expiresAt <= new Date()) {
      return claims.end(confirmation, {})
    }
    const secret = createSecret()
    const tokens = { $each: [sha256(secret)], $slice: -TOKENS_MAX }
    if (!await claims.update(confirmation, { $push: { tokens } })) return
    try {
      await send(messages.confirmation({ address, ...every && { every }, user: user.name, secret }))
    } catch (error) {
      if (!(error instanceof MailFailure && error.refused)) throw error
      return claims.end(confirmation, { problem: error.problem })
    }
    await claims.end(confirmation, { sent_at: new Date() }, { problem: '' })
  }
}
