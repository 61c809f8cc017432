import createError from '@fastify/error'
import { sha256, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { createLinkSecret } from './secrets.js'

/** @import {Connection, mongo} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */
/** @import {Actor, Audit} from './audit.js' */
/** @import {Member, PeopleModels} from './model.js' */

/** An invitation may wait over a weekend. */
export const LINK_MAX_MS = 3 * 86_400_000
const MEMBERS_MAX = 10_000
const MEMBERS_PER_PAGE = 100
/** Of one person in other collections, all under their key. */
const OWN_COLLECTIONS = ['watchers', 'digests', 'digest_confirmations']

const NoMember = createError('WIKI_NO_MEMBER', 'Nobody of that name is in the list of people.', 404)
const NameTaken = createError('WIKI_NAME_TAKEN', '“%s” is in the list of people already (capitals do not count).', 409)
const TooManyMembers = createError('WIKI_TOO_MANY_MEMBERS', `The list of people has ${MEMBERS_MAX} already.`, 409)
const NotYourself = createError(
  'WIKI_NOT_YOURSELF',
  'You cannot change your own role, block or remove yourself: so that an administrator is left. Ask another one.',
  409
)
const KeptInFile = createError(
  'WIKI_KEPT_IN_FILE',
  '“%s” is kept in the users’ file. Change that with wiki-app/bin/user.js, and restart the wiki.',
  409
)

/** @typedef {mongo.Collection<mongo.OptionalId<Member>>} Collection */
/**
 * @typedef {{connection: Connection, models: PeopleModels, audit: Audit, isInFile: (name: string) => boolean}} Parts
 */

/**
 * What administrators do with the people that are kept in the database.
 * @param {Parts} parts
 */
export function createMembers ({ connection, models, audit, isInFile }) {
  const members = driverOf(models.Members)
  const change = createChange({ members, audit, isInFile })

  return {
    ...invitations({ members, audit, isInFile }),

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
    setRole: (actor, name, role) => change(actor, name, { did: 'role', role }, { $set: { role } }),

    /** Sessions, tokens and links stop working at once. @param {Actor} actor @param {string} name */
    block: (actor, name) => change(actor, name, { did: 'blocked' }, { $set: { blocked_at: new Date(), link: null } }),

    /** @param {Actor} actor @param {string} name */
    unblock: (actor, name) => change(actor, name, { did: 'unblocked' }, { $set: { blocked_at: null } }),

    /**
     * With all that is stored for this person; the history keeps the name.
     * @param {Actor} actor @param {string} name @throws {Error} 404, 409, 403
     */
    async remove (actor, name) {
      refuse({ actor, name, isInFile })
      await audit.during(actor, { did: 'removed', to: name }, async (session) => {
        const found = await members.findOneAndDelete({ _id: userKey(name) }, { session })
        if (found === null) throw new NoMember()
        for (const collection of OWN_COLLECTIONS) {
          await connection.collection(collection).deleteOne(/** @type {any} */ ({ _id: userKey(name) }), { session })
        }
        await connection.collection('sessions').deleteMany({ user: found.name }, { session })
      })
    }
  }
}

/** @param {{actor: Actor, name: string, isInFile: Parts['isInFile']}} asked @throws {Error} 409 */
function refuse ({ actor, name, isInFile }) {
  if (isInFile(name)) throw new KeptInFile(name)
  if (userKey(actor.name) === userKey(name)) throw new NotYourself()
}

/** @param {Pick<Parts, 'audit' | 'isInFile'> & {members: Collection}} parts */
const createChange = ({ members, audit, isInFile }) =>
  /**
   * @param {Actor} actor @param {string} name @param {{did: string, role?: Role}} line
   * @param {mongo.UpdateFilter<mongo.OptionalId<Member>>} update
   * @returns {Promise<Member>} changed @throws {Error} 404, 409, 403
   */
  async (actor, name, line, update) => {
    refuse({ actor, name, isInFile })
    return audit.during(actor, { ...line, to: name }, async (session) => {
      const found = await members.findOneAndUpdate(
        { _id: userKey(name) }, update, { session, returnDocument: 'after' }
      )
      if (found === null) throw new NoMember()
      return /** @type {Member} */ (found)
    })
  }

/** @param {Pick<Parts, 'audit' | 'isInFile'> & {members: Collection}} parts */
const invitations = ({ members, audit, isInFile }) => ({
  /**
   * @param {Actor} actor @param {string} name @param {Role} role
   * @returns {Promise<string>} the secret of the link @throws {Error} 409, 403
   */
  async invite (actor, name, role) {
    if (isInFile(name)) throw new NameTaken(name)
    if (await members.countDocuments({}, { limit: MEMBERS_MAX }) === MEMBERS_MAX) throw new TooManyMembers()
    const secret = createLinkSecret()
    await audit.during(actor, { did: 'invited', to: name, role }, async (session) => {
      // Another invitation of this name, at the same moment, is a duplicate key: the retry finds it here.
      if (await members.findOne({ _id: userKey(name) }, { session }) !== null) throw new NameTaken(name)
      await members.insertOne({
        _id: userKey(name),
        name,
        role,
        password: '',
        tokens: [],
        blocked_at: null,
        link: linkOf(secret),
        created_at: new Date(),
        acted_at: null
      }, { session })
    })
    return secret
  },

  /**
   * The present password works until another one is chosen.
   * @param {Actor} actor @param {string} name
   * @returns {Promise<string>} the secret of the link @throws {Error} 404, 409, 403
   */
  async renewLink (actor, name) {
    if (isInFile(name)) throw new KeptInFile(name)
    const secret = createLinkSecret()
    await audit.during(actor, { did: 'linked', to: name }, async (session) => {
      const { matchedCount } = await members.updateOne(
        { _id: userKey(name) }, { $set: { link: linkOf(secret) } }, { session }
      )
      if (matchedCount === 0) throw new NoMember()
    })
    return secret
  }
})

/** @param {string} secret */
const linkOf = (secret) => ({ sha256: sha256(secret), expires_at: new Date(Date.now() + LINK_MAX_MS) })

/** @typedef {ReturnType<typeof createMembers>} Members */
