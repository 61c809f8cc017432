import createError from '@fastify/error'
import { suffices } from '../access/roles.js'
import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { namesAbove } from '../pages/name.js'
import { rangeBelow } from '../pages/subpage-names.js'
import { pageOfTalk, TALK } from '../pages/talk.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Space, SpaceModels} from './model.js' */

export const NoSpace = createError(
  'WIKI_NO_SPACE', 'There is no private space “%s” that you may see. Yours are at /edit/spaces.', 404
)

/** Names of spaces that would have this page, or this talk page. @param {string} name  canonical */
const rootsOf = (name) => {
  const page = pageOfTalk(name) ?? name
  return [page, ...namesAbove(page)]
}

/** @param {string} root  of a space @param {string} name  canonical */
export const isWithin = (root, name) => rootsOf(name).includes(root)

/** Each begins a range of names of the space: its pages, and their talk pages. @param {string} root */
export const beginnings = (root) => [root, `${TALK}${root}`]

/** Conditions for such names: each is one of these ranges. @param {string} root */
export const rangesOf = (root) => beginnings(root).flatMap((name) => [{ $eq: name }, rangeBelow(name)])

/** @param {Pick<SpaceModels, 'Spaces' | 'Groups'>} models */
export function createFindSpace (models) {
  const [spaces, groups] = [driverOf(models.Spaces), driverOf(models.Groups)]

  /**
   * @param {string[]} names  canonical @param {ClientSession} [session]
   * @returns {Promise<(name: string) => Space | null>} the space of each
   */
  async function spacesOf (names, session) {
    const asked = [...new Set(names.flatMap(rootsOf))]
    const found = await spaces.find({ _id: { $in: asked } }, { session, batchSize: asked.length + 1 }).toArray()
    const byName = new Map(found.map((space) => [space._id, /** @type {Space} */ (space)]))
    return (name) => rootsOf(name).map((root) => byName.get(root)).find(Boolean) ?? null
  }

  /** @param {Pick<Person, 'name'>} person @param {ClientSession} [session] @returns {Promise<Set<string>>} keys */
  async function groupsOf ({ name }, session) {
    const found = await groups
      .find({ 'members.key': userKey(name) }, { projection: { _id: 1 }, session })
      .toArray()
    return new Set(found.map(({ _id }) => _id))
  }

  return {
    spacesOf,
    groupsOf,

    /** @param {string} name  canonical @param {ClientSession} [session] @returns {Promise<Space | null>} */
    find: async (name, session) => (await spacesOf([name], session))(name),

    /**
     * @param {Space} space @param {Person} person @param {ClientSession} [session]
     * @returns {Promise<Role | null>} the highest of the person's groups; null: none
     */
    async roleIn (space, person, session) {
      if (person.role === 'admin') return 'admin'
      return roleOf(space, await groupsOf(person, session))
    }
  }
}

/** @param {Pick<Space, 'grants'>} space @param {Set<string>} groups  keys @returns {Role | null} */
export const roleOf = ({ grants }, groups) => grants
  .filter(({ group }) => groups.has(group))
  .reduce((highest, { role }) => highest !== null && suffices(highest, role) ? highest : role,
    /** @type {Role | null} */ (null))

/** @typedef {ReturnType<typeof createFindSpace>} FindSpace */
