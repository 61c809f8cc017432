import createError from '@fastify/error'
import { sha256, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { lookAlikes } from './look-alikes.js'
import { namesFor } from './names.js'
import { namesOf, newMember, PROVIDER, refuseTooMany, RESERVED_NAMES } from './new-member.js'
import { InFile, linked, LinkGone } from './own-account.js'
import { deleteOwn, endSessions } from './own-data.js'
import { keepOut } from './removed.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */
/** @import {Audit} from './audit.js' */
/** @import {Member, PeopleModels} from './model.js' */

const Blocked = createError(
  'WIKI_BLOCKED', '“%s” is blocked. An administrator of the wiki can change that.', 403
)
const Removed = createError(
  'WIKI_REMOVED',
  'Your account was removed from this wiki, or its owner signs in with another one now. An administrator can invite ' +
    'you again: open the link that you get, and sign in there.',
  403
)
const NotInvited = createError(
  'WIKI_NOT_INVITED',
  'This wiki does not know you yet. Ask an administrator to invite you: open the link that you get, and sign in there.',
  403
)
const NamesTaken = createError(
  'WIKI_NAMES_TAKEN', 'Too many people have your name here. Ask an administrator to invite you with another one.', 409
)
const Connected = createError(
  'WIKI_IDENTITY_CONNECTED',
  'You are “%s” in this wiki already, so the link was not used. ' +
    'Sign in without it, or give it to the one it is for.',
  409
)

class AddedMeanwhile extends Error {}

/**
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {PeopleModels} models
 * @property {Audit} audit
 * @property {(name: string) => boolean} isInFile
 * @property {string[]} namesInFile
 * @property {() => AsyncIterable<string>} authorNames  of revisions
 */

/**
 * People that sign in with OpenID Connect. Issuer and subject alone identify a person: names and addresses
 * there may change their owner (OpenID Connect Core 1.0 §5.7).
 * @param {Parts} parts
 */
export function createIdentities ({ connection, models, audit, isInFile, namesInFile, authorNames }) {
  const [members, removed] = [driverOf(models.Members), driverOf(models.Removed)]

  /** @param {string[]} names @param {ClientSession} session @returns {Promise<string>} @throws {Error} 409 */
  async function freeName (names, session) {
    for (const name of names) {
      if (await members.findOne({ _id: userKey(name) }, { session }) === null) return name
    }
    throw new NamesTaken()
  }

  /** @param {string[]} given @returns {Promise<string[]>} names that look like nobody's, also not an author's */
  async function unusedNames (given) {
    const names = [...namesFor(given)]
    const alike = await lookAlikes(names, [RESERVED_NAMES, namesInFile, namesOf(members), authorNames()])
    return names.filter((name) => !alike.has(name))
  }

  /**
   * @param {string} identity @param {string[]} names  see `unusedNames` @param {Role} role
   * @returns {Promise<Member>}
   */
  const add = (identity, names, role) => audit.during(PROVIDER, { did: 'admitted', role }, async (session) => {
    // Another sign-in of the same person, at the same moment, is a duplicate key: the retry finds it here.
    if (await members.findOne({ identity }, { session }) !== null) throw new AddedMeanwhile()
    const member = { ...newMember(await freeName(names, session), role), identity }
    // Of a namesake in the users' file, or removed during a request.
    await deleteOwn(connection, member.name, session)
    await members.insertOne(member, { session })
    return member
  })

  /** @param {string} id @returns {Promise<Member | null>} @throws {Error} 403, 409 for people that may not come in */
  async function find (id) {
    const member = /** @type {Member | null} */ (await members.findOne({ identity: id }))
    if (member === null) return null
    if (isInFile(member.name)) throw new InFile()
    if (member.blocked_at !== null) throw new Blocked(member.name)
    return member
  }

  return {
    /**
     * @param {{id: string, names: () => Promise<string[]>}} identity
     * @param {Role | 'none'} newRole  of somebody unknown
     * @returns {Promise<Member>} @throws {Error} 403, 409, 503
     */
    async come ({ id, names }, newRole) {
      const known = await find(id)
      if (known !== null) return known
      if (await removed.findOne({ _id: sha256(id) }) !== null) throw new Removed()
      if (newRole === 'none') throw new NotInvited()
      await refuseTooMany(members)
      try {
        return await add(id, await unusedNames(await names()), newRole)
      } catch (error) {
        const added = error instanceof AddedMeanwhile ? await find(id) : null
        if (added === null) throw error
        return added
      }
    },

    /**
     * Uses a link up: from now on the identity there is its owner's. Sessions from before end. An identity from before
     * stays out: it would come in as another person, also after its owner is blocked.
     * @param {string} identity @param {string} secret  of the link
     * @returns {Promise<Member>} @throws {Error} 404, 409
     */
    connect: (identity, secret) => audit.during(PROVIDER, { did: 'connected' }, async (session) => {
      const owner = await members.findOne(linked(secret), { session })
      if (owner === null) throw new LinkGone()
      if (isInFile(owner.name)) throw new InFile()
      const other = await members.findOne({ identity }, { session })
      if (other !== null && other._id !== owner._id) throw new Connected(other.name)
      await members.updateOne({ _id: owner._id }, { $set: { identity, link: null } }, { session })
      await removed.deleteOne({ _id: sha256(identity) }, { session })
      if (owner.identity !== undefined && owner.identity !== identity) await keepOut(removed, owner.identity, session)
      await endSessions(connection, owner.name, session)
      return /** @type {Member} */ (owner)
    })
  }
}

/** @typedef {ReturnType<typeof createIdentities>} Identities */
