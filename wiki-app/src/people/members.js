import createError from '@fastify/error'
import { sha256, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { deleteOwn, endSessions } from './own-data.js'
import { LooksAlike, lookAlikes, refuseMixed } from './look-alikes.js'
import { isReserved, namesOf, newMember, refuseTooMany, RESERVED_NAMES } from './new-member.js'
import { keepOut } from './removed.js'
import { createLinkSecret } from './secrets.js'

/** @import {ClientSession, Connection, mongo} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */
/** @import {Actor, Audit} from './audit.js' */
/** @import {Member, PeopleModels} from './model.js' */

/** An invitation may wait over a weekend. */
export const LINK_MAX_MS = 3 * 86_400_000
const MEMBERS_PER_PAGE = 100

const NoMember = createError('WIKI_NO_MEMBER', 'Nobody of that name is in the list of people.', 404)
const NameTaken = createError('WIKI_NAME_TAKEN', '“%s” is in the list of people already (capitals do not count).', 409)
const NotYourself = createError(
  'WIKI_NOT_YOURSELF',
  'You cannot change your own role, make a link for yourself, block or remove yourself: another administrator can. ' +
    'So one is always left.',
  409
)
const BlockedNow = createError('WIKI_BLOCKED_NOW', '“%s” is blocked. Unblock first: a link would not work.', 409)
const KeptInFile = createError(
  'WIKI_KEPT_IN_FILE',
  '“%s” is kept in the users’ file. Change that with wiki-app/bin/user.js, and restart the wiki.',
  409
)

/** @typedef {mongo.Collection<mongo.OptionalId<Member>>} Collection */
/**
 * @typedef {{connection: Connection, models: PeopleModels, audit: Audit, isInFile: (name: string) => boolean,
 *   namesInFile: string[], authorNames?: () => AsyncIterable<string>}} Parts  `authorNames`: of the history
 */

/**
 * What administrators do with the people that are kept in the database.
 * @param {Parts} parts
 */
export function createMembers ({ connection, models, audit, isInFile, ...names }) {
  const members = driverOf(models.Members)
  const parts = { connection, members, audit, isInFile }
  const change = createChange(parts)
  const removed = driverOf(models.Removed)

  return {
    ...invitations(parts, names),

    /** @param {string} name @returns {Promise<Member>} @throws {Error} 404 */
    async get (name) {
      const member = await members.findOne({ _id: userKey(name) })
      if (member === null) throw new NoMember()
      return /** @type {Member} */ (member)
    },

    /**
     * In the order of names.
     * @param {string} [after]  name @returns {Promise<{items: Member[], next: string | null}>}
     */
    async list (after) {
      const filter = after === undefined ? {} : { _id: { $gt: userKey(after) } }
      const found = await members.find(filter, { sort: { _id: 1 }, limit: MEMBERS_PER_PAGE + 1 }).toArray()
      const items = /** @type {Member[]} */ (found.slice(0, MEMBERS_PER_PAGE))
      return { items, next: found.length > items.length ? items[items.length - 1].name : null }
    },

    /** @param {Actor} actor @param {string} name @param {Role} role */
    setRole: (actor, name, role) => change(actor, name, { did: 'role', role }, { role }),

    /** Sessions, tokens and links stop working at once. @param {Actor} actor @param {string} name */
    block: (actor, name) => change(actor, name, { did: 'blocked' }, { blocked_at: new Date(), link: null, resets: [] }),

    /** @param {Actor} actor @param {string} name */
    unblock: (actor, name) => change(actor, name, { did: 'unblocked' }, { blocked_at: null }),

    /**
     * With all that is stored for this person; the history keeps the name. Also somebody whom a name in the users' file
     * hides.
     * @param {Actor} actor @param {string} name @throws {Error} 404, 409, 403
     */
    async remove (actor, name) {
      if (!actor.inFile && userKey(actor.name) === userKey(name)) throw new NotYourself()
      await audit.during(actor, { did: 'removed' }, async (session) => {
        const found = await members.findOneAndDelete({ _id: userKey(name) }, { session })
        if (found === null) throw new NoMember()
        await endLinksBy(members, found._id, session)
        await deleteOwn(connection, found.name, session)
        if (found.identity !== undefined) await keepOut(removed, found.identity, session)
        return found
      })
    }
  }
}

/** @param {{actor: Actor, name: string, isInFile: Parts['isInFile']}} asked @throws {Error} 409 */
function refuse ({ actor, name, isInFile }) {
  if (isInFile(name)) throw new KeptInFile(name)
  if (userKey(actor.name) === userKey(name)) throw new NotYourself()
}

/**
 * The links that an administrator made, who may not make any now.
 * @param {Collection} members @param {string} key @param {ClientSession} session
 */
const endLinksBy = (members, key, session) =>
  members.updateMany({ 'link.by': key }, { $set: { link: null } }, { session })

/** @typedef {Pick<Parts, 'connection' | 'audit' | 'isInFile'> & {members: Collection}} Inner */

/** @param {Inner} parts */
const createChange = ({ connection, members, audit, isInFile }) =>
  /**
   * @param {Actor} actor @param {string} name @param {{did: string, role?: Role}} line
   * @param {Partial<Member>} fields
   * @returns {Promise<Member>} changed @throws {Error} 404, 409, 403
   */
  async (actor, name, line, fields) => {
    refuse({ actor, name, isInFile })
    return audit.during(actor, line, async (session) => {
      const found = await members.findOneAndUpdate(
        { _id: userKey(name) }, { $set: fields }, { session, returnDocument: 'after' }
      )
      if (found === null) throw new NoMember()
      if (found.role !== 'admin' || found.blocked_at !== null) await endLinksBy(members, found._id, session)
      if (found.blocked_at !== null) await endSessions(connection, found.name, session)
      return /** @type {Member} */ (found)
    })
  }

/**
 * Its own author may come back under a name of the history, nobody under one that looks like it.
 * @param {string} name @param {Collection} members @param {Pick<Parts, 'namesInFile' | 'authorNames'>} others
 * @throws {Error} 400, 409
 */
async function refuseAlike (name, members, { namesInFile, authorNames }) {
  refuseMixed(name)
  const alike = await lookAlikes([name], [RESERVED_NAMES, namesInFile, namesOf(members), authorNames?.() ?? []])
  const other = alike.get(name)?.find((each) => userKey(each) !== userKey(name))
  if (other !== undefined) throw new LooksAlike(name, other)
}

/** @param {Inner} parts @param {Pick<Parts, 'namesInFile' | 'authorNames'>} names */
const invitations = ({ connection, members, audit, isInFile }, names) => ({
  /**
   * @param {Actor} actor @param {string} name @param {Role} role
   * @returns {Promise<string>} the secret of the link @throws {Error} 409, 403
   */
  async invite (actor, name, role) {
    if (isInFile(name) || isReserved(name)) throw new NameTaken(name)
    await refuseTooMany(members)
    await refuseAlike(name, members, names)
    const secret = createLinkSecret()
    await audit.during(actor, { did: 'invited', role }, async (session) => {
      // Another invitation of this name, at the same moment, is a duplicate key: the retry finds it here.
      if (await members.findOne({ _id: userKey(name) }, { session }) !== null) throw new NameTaken(name)
      // Of a namesake, who was in the users' file or was removed during a request.
      await deleteOwn(connection, name, session)
      await members.insertOne({ ...newMember(name, role), link: linkOf(secret, actor) }, { session })
      return { name }
    })
    return secret
  },

  /**
   * The present password works until another one is chosen.
   * @param {Actor} actor @param {string} name
   * @returns {Promise<string>} the secret of the link @throws {Error} 404, 409, 403
   */
  async renewLink (actor, name) {
    refuse({ actor, name, isInFile })
    const secret = createLinkSecret()
    await audit.during(actor, { did: 'linked' }, async (session) => {
      const found = await members.findOneAndUpdate(
        { _id: userKey(name) }, { $set: { link: linkOf(secret, actor) } }, { session }
      )
      if (found === null) throw new NoMember()
      if (found.blocked_at !== null) throw new BlockedNow(found.name)
      return found
    })
    return secret
  }
})

/** @param {string} secret @param {Actor} actor */
const linkOf = (secret, actor) => ({
  sha256: sha256(secret), expires_at: new Date(Date.now() + LINK_MAX_MS), by: userKey(actor.name)
})

/** @typedef {ReturnType<typeof createMembers>} Members */
