import { sha256 } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { MailFailure } from '../mail/failures.js'
import { SERVER } from '../people/new-member.js'
import { RESETS_MAX } from '../people/own-account.js'
import { createLinkSecret } from '../people/secrets.js'
import { mayGetLink } from './requests.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Claims} from '../digest/claims.js' */
/** @import {Send} from '../digest/sending.js' */
/** @import {Mail} from '../mail/mailer.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {Member, PeopleModels} from '../people/model.js' */
/** @import {PasswordMessages} from './messages.js' */
/** @import {PasswordMail} from './model.js' */

export const LINK_MAX_MS = 3_600_000

/**
 * Sends one mail. Only hashes of links are stored, so each attempt has a link of its own; all that came work for their
 * hour, until one is used.
 * @param {{claims: Claims<PasswordMail>, models: Pick<PeopleModels, 'Members'>, audit: Audit,
 *   isInFile: (name: string) => boolean, messages: PasswordMessages, send: Send}} parts
 */
export function createPasswordMailWork ({ claims, models, audit, isInFile, messages, send }) {
  const members = driverOf(models.Members)

  /** @param {PasswordMail} job @param {Member} member @returns {Promise<Mail | null>} */
  async function linkMail ({ asked = [], failures }, member) {
    const isTooLate = Number(asked.at(-1) ?? 0) + LINK_MAX_MS <= Date.now()
    if (isTooLate || !mayGetLink(member)) return null
    const secret = createLinkSecret()
    const reset = { sha256: sha256(secret), expires_at: new Date(Date.now() + LINK_MAX_MS) }
    /** @param {ClientSession} [session] */
    const add = async (session) => {
      await members.updateOne(
        { _id: member._id, blocked_at: null },
        { $push: { resets: { $each: [reset], $slice: -RESETS_MAX } } },
        { session }
      )
      return member
    }
    await (failures === 0 ? audit.during(SERVER, { did: 'mailed' }, add) : add())
    return messages.link(member, secret)
  }

  /** @param {PasswordMail} job  claimed @throws {Error} the database is away, or no mail can be sent now */
  return async function workOn (job) {
    const member = /** @type {Member | null} */ (await members.findOne({ _id: job.user }))
    const isHere = member !== null && member.mail !== undefined && !isInFile(member.name)
    const mail = !isHere
      ? null
      : job.kind === 'link' ? await linkMail(job, member) : messages.changed(member)
    try {
      if (mail !== null) await send(mail)
    } catch (error) {
      if (!(error instanceof MailFailure && error.refused)) throw error
      return claims.end(job, { problem: error.problem })
    }
    await claims.end(job, {}, { problem: '' })
  }
}
