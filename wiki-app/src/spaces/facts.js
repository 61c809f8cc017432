/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Groups} from './groups.js' */
/** @import {Space} from './model.js' */
/** @import {Spaces} from './spaces.js' */

/** What forms and programs see of spaces. @typedef {ReturnType<typeof factsOf>} Facts */

/**
 * The private spaces that a person may read, by name.
 * @param {{spaces: Pick<Spaces, 'list'>, groups: Pick<Groups, 'list'>}} parts @param {Person} person
 * @returns {Promise<{items: Facts[], groups: string[]}>} `groups`: names of all, for those that may give them roles
 */
export async function spacesFor ({ spaces, groups }, person) {
  const found = await spaces.list(person)
  const names = found.some(({ role }) => role === 'admin') ? await namesOf(groups) : new Map()
  return { items: found.map((space) => factsOf(space, names)), groups: [...names.values()] }
}

/**
 * @param {{groups: Pick<Groups, 'list'>}} parts @param {Space} space @param {Role} role  of the person that asks
 * @returns {Promise<Facts>}
 */
export const spaceFor = async ({ groups }, space, role) =>
  factsOf({ ...space, role }, role === 'admin' ? await namesOf(groups) : new Map())

/** @param {Pick<Groups, 'list'>} groups @returns {Promise<Map<string, string>>} by key */
const namesOf = async (groups) => new Map((await groups.list()).map(({ _id: key, name }) => [key, name]))

/**
 * Grants are for those that may change them.
 * @param {Space & {role: Role}} space @param {Map<string, string>} nameOf  of groups, by key
 */
function factsOf ({ _id: name, role, grants, state }, nameOf) {
  const shown = grants.map(({ group, role }) => ({ group: nameOf.get(group) ?? group, role }))
  return { name, role, state, ...role === 'admin' && { grants: shown } }
}
