import createError from '@fastify/error'
import { isLine, LINE_RULE, NAME_MAX_CHARS, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'

/** @import {Members} from '../people/members.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {Group, SpaceModels} from './model.js' */

const GROUPS_MAX = 100
const MEMBERS_MAX = 1_000

const InvalidName = createError('WIKI_INVALID_NAME_OF_GROUP', `The name of a group must be ${LINE_RULE}.`, 400)
export const NoGroup = createError('WIKI_NO_GROUP', 'There is no group “%s”. Make it first.', 404)
const GroupTaken = createError('WIKI_GROUP_TAKEN', 'There is a group “%s” already (capitals do not count).', 409)
const TooManyGroups = createError(
  'WIKI_TOO_MANY_GROUPS', `There are ${GROUPS_MAX} groups already. Remove one first.`, 409
)
const TooManyMembers = createError(
  'WIKI_TOO_MANY_IN_GROUP', `A group has at most ${MEMBERS_MAX} people. Make another group for more.`, 409
)

/** As people's names: capitals do not count. @param {string} name */
export const groupKey = (name) => userKey(name)

/**
 * What administrators do with groups.
 * @param {object} parts
 * @param {Pick<SpaceModels, 'Spaces' | 'Groups'>} parts.models
 * @param {Audit} parts.audit
 * @param {Pick<Members, 'get'>} parts.members
 * @param {Pick<import('../access/users.js').Users, 'isInFile'>} parts.users
 */
export function createGroups ({ models, audit, members, users }) {
  const [groups, spaces] = [driverOf(models.Groups), driverOf(models.Spaces)]
  const actorOf = (/** @type {string} */ name) => ({ name, inFile: users.isInFile(name) })

  /** @param {string} person @throws {Error} 404 */
  async function refuseUnknown (person) {
    if (!users.isInFile(person)) await members.get(person)
  }

  return {
    /** By name. @returns {Promise<Group[]>} all of them */
    list: async () => /** @type {Group[]} */ (
      await groups.find({}, { sort: { _id: 1 }, limit: GROUPS_MAX }).toArray()),

    /** @param {string} name @returns {Promise<Group>} @throws {Error} 404 */
    async get (name) {
      const group = await groups.findOne({ _id: groupKey(name) })
      if (group === null) throw new NoGroup(name)
      return /** @type {Group} */ (group)
    },

    /**
     * @param {string} actor  name of an administrator @param {string} given
     * @returns {Promise<Group>} @throws {Error} 400, 403, 409
     */
    async make (actor, given) {
      const name = given.normalize('NFC').trim()
      if (!isLine(name, NAME_MAX_CHARS)) throw new InvalidName()
      return audit.during(actorOf(actor), { did: 'group-made' }, async (session) => {
        const group = { _id: groupKey(name), name, members: [], at: new Date() }
        if (await groups.findOne({ _id: group._id }, { session }) !== null) throw new GroupTaken(name)
        await groups.insertOne(group, { session })
        if (await groups.countDocuments({}, { session, limit: GROUPS_MAX + 1 }) > GROUPS_MAX) throw new TooManyGroups()
        return group
      })
    },

    /** Its roles in spaces end. @param {string} actor @param {string} name @throws {Error} 403, 404 */
    async remove (actor, name) {
      await audit.during(actorOf(actor), { did: 'group-removed' }, async (session) => {
        const group = await groups.findOneAndDelete({ _id: groupKey(name) }, { session })
        if (group === null) throw new NoGroup(name)
        await spaces.updateMany({}, { $pull: { grants: { group: group._id } } }, { session })
        return /** @type {Group} */ (group)
      })
    },

    /**
     * @param {string} actor @param {string} name @param {{person: string, isIn: boolean}} change
     * @throws {Error} 403, 404, 409
     */
    async change (actor, name, { person, isIn }) {
      if (isIn) await refuseUnknown(person)
      const key = userKey(person)
      const line = { did: isIn ? 'joined' : 'left', reason: name }
      await audit.during(actorOf(actor), line, async (session) => {
        const group = /** @type {Group | null} */ (await groups.findOne({ _id: groupKey(name) }, { session }))
        if (group === null) throw new NoGroup(name)
        const others = group.members.filter((member) => member.key !== key)
        const after = isIn ? [...others, { key, name: person.trim() }] : others
        if (after.length > MEMBERS_MAX) throw new TooManyMembers()
        await groups.updateOne({ _id: group._id }, { $set: { members: after } }, { session })
        return { name: person }
      })
    }
  }
}

/** @typedef {ReturnType<typeof createGroups>} Groups */
