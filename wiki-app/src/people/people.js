import { driverOf } from '../database/driver.js'
import { whileAvailable } from '../database/while-available.js'
import { authorNames } from '../history/authors.js'
import { createWatching } from '../watching/watching.js'
import { createAudit } from './audit.js'
import { createIdentities } from './identities.js'
import { createMembers } from './members.js'
import { definePeople } from './model.js'
import { createPasswordMail } from '../password-mail/password-mail.js'
import { createOwnAccount } from './own-account.js'
import { createUsers } from './users.js'

/** @import {createSessions} from '../access/sessions.js' */
/** @import {Database} from '../database/database.js' */
/** @import {createDigests} from '../digest/digests.js' */
/** @import {History} from '../history/history.js' */
/** @import {createMailer} from '../mail/mailer.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Config} from '../settings.js' */
/** @import {Begun} from '../spaces/services.js' */
/** @import {FanOut} from '../watching/fan-out.js' */

/** @typedef {typeof createMailer} CreateMailer */

/** Of a wiki that knows nobody by name. */
const NOBODY = {
  users: null,
  sessions: null,
  members: null,
  audit: null,
  account: null,
  identities: null,
  watching: null,
  digests: undefined,
  passwordMail: undefined
}

/**
 * The parts of a wiki that knows people by name, and what they watch.
 * @typedef {{config: Config, log: import('fastify').FastifyBaseLogger, database: Database, models: Models,
 *   history: History}} OfPeople
 * @param {import('../access/users.js').UsersFile | null} file
 * @param {OfPeople & {fanOut?: FanOut, spaces?: Begun} & {createMailer?: CreateMailer} &
 *   {makeSessions: typeof createSessions, makeDigests: typeof createDigests}} parts
 */
export function peopleOf (file, { makeSessions, fanOut, spaces, ...parts }) {
  if (parts.config.ACCESS !== 'users' || spaces === undefined) return NOBODY
  const { database, models } = parts
  const { connection } = database
  const ofMembers = { connection, models: definePeople(connection) }
  const named = { namesInFile: file?.names ?? [], authorNames: () => allAuthors(parts.history, spaces) }
  const users = createUsers({ file, models: ofMembers.models, whileAvailable: database.whileAvailable })
  const audit = createAudit(ofMembers)
  const watching = whileAvailable(createWatching({ connection, models, users, fanOut, spaces }), database)
  const mail = mailOf({ ...parts, users, watching, audit, people: ofMembers.models })
  return {
    users,
    members: whileAvailable(createMembers({ ...ofMembers, ...named, audit, isInFile: users.isInFile }), database),
    audit: whileAvailable(audit, database),
    account: whileAvailable(createOwnAccount({
      ...ofMembers, audit, isInFile: users.isInFile, mails: mail?.passwordMail.requests
    }), database),
    identities: whileAvailable(createIdentities({
      ...ofMembers, ...named, audit, isInFile: users.isInFile
    }), database),
    sessions: whileAvailable(makeSessions(connection, users), database),
    watching,
    digests: mail?.digests,
    passwordMail: mail?.passwordMail
  }
}

/**
 * Also those of private pages alone: nobody else takes their names.
 * @param {Pick<History, 'authorNames'>} history  of public pages @param {Begun} spaces
 */
async function * allAuthors (history, { models: { inside } }) {
  yield * history.authorNames()
  const revisions = driverOf(inside.Revisions)
  // Its indexes come with the first space.
  if (await revisions.findOne({}, { projection: { _id: 1 } }) !== null) yield * authorNames(revisions)
}

/**
 * With complete settings, see config.js.
 * @param {OfPeople & {createMailer?: CreateMailer} & {makeDigests: typeof createDigests} &
 *   {users: import('../access/users.js').Users, watching: ReturnType<typeof createWatching>,
 *   audit: ReturnType<typeof createAudit>, people: ReturnType<typeof definePeople>}} parts
 */
function mailOf ({ config, log, database, history, users, watching, audit, people, createMailer, makeDigests }) {
  const { SMTP_URL: url, MAIL_FROM: from, PUBLIC_URL: publicUrl } = config
  if (!createMailer || !url || !from || !publicUrl) return undefined
  const { origin: root, host: name } = new URL(publicUrl)
  const { connection, isUnavailable } = database
  const mailer = createMailer({ url, from, name }, log)
  const { kindsOf, requests, addresses, messages } = createPasswordMail({
    connection, models: people, users, audit, root, added: () => digests.added(), log
  })
  const digests = makeDigests({ connection, users, watching, history, mailer, root, isUnavailable, log, kindsOf })
  return {
    digests: { ...digests, subscriptions: whileAvailable(digests.subscriptions, database) },
    passwordMail: { requests, addresses: whileAvailable(addresses, database), messages, send: mailer.send }
  }
}
