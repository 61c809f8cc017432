import { createConfirmationWork } from '../digest/confirmation-work.js'
import { createPasswordMessages } from './messages.js'
import { definePasswordMails } from './model.js'
import { createOwnAddresses } from './own-addresses.js'
import { createRequests } from './requests.js'
import { createPasswordMailWork } from './work.js'

/** @import {Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {KindsOf} from '../digest/digests.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {PeopleModels} from '../people/model.js' */

/**
 * Links for new passwords by mail (docs/decisions/0092). The mails are sent beside those of digests.
 * @param {{connection: Connection, models: PeopleModels, users: Users, audit: Audit, root: string, added: () => void,
 *   log: Pick<import('fastify').FastifyBaseLogger, 'warn'>}} parts  `added`: there is a mail to send
 */
export function createPasswordMail ({ connection, models: people, users, audit, root, added, log }) {
  const models = { ...definePasswordMails(connection), Members: people.Members }
  const messages = createPasswordMessages({ root })
  const { isInFile } = users
  return {
    requests: createRequests({ models, isInFile, added, log }),
    addresses: createOwnAddresses({ connection, models, users, added }),
    messages,
    /** @type {KindsOf} */
    kindsOf (send, claimsOf) {
      const claims = claimsOf(models.PasswordMails)
      const toConfirm = claimsOf(models.Confirmations)
      return [
        { claims, workOn: createPasswordMailWork({ claims, models, audit, isInFile, messages, send }) },
        { claims: toConfirm, workOn: createConfirmationWork({ claims: toConfirm, users, messages, send }) }
      ]
    }
  }
}

/** @typedef {ReturnType<typeof createPasswordMail>} PasswordMail */
