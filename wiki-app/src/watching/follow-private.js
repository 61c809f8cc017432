import { roleOf } from '../spaces/find-space.js'
import { createFollowPages } from './follow-pages.js'

/** @import {Users} from '../access/users.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {FindSpace} from '../spaces/find-space.js' */
/** @import {Follow} from './follow-pages.js' */

/**
 * Of private pages, a list shows those of the spaces that its owner may read now. The others stay in it, as the role
 * may come back; those whose space is gone do not.
 * @param {{models: Pick<Models, 'Pages'>, finding: Pick<FindSpace, 'spacesOf' | 'groupsOf'>,
 *   users: Pick<Users, 'find'>}} parts
 * @returns {Follow}
 */
export function createFollowPrivate ({ models, finding: { spacesOf, groupsOf }, users }) {
  const followPages = createFollowPages(models)

  return async function followPrivate (user, watched) {
    if (watched.length === 0) return { pages: [], hidden: [], spaceOf: () => null }
    const person = await users.find(user)
    const [spaceIn, groups] = await Promise.all([
      spacesOf(watched.map(({ name }) => name)), groupsOf({ name: user })
    ])
    const spaceOf = (/** @type {string} */ name) => {
      const space = spaceIn(name)
      const mayRead = space !== null && person !== null && (person.role === 'admin' || roleOf(space, groups) !== null)
      return mayRead ? space._id : null
    }
    const isShown = (/** @type {{name: string}} */ { name }) => spaceOf(name) !== null
    const left = watched.filter(({ name }) => spaceIn(name) !== null)
    const followed = await followPages(left.filter(isShown))
    return {
      pages: followed.filter(isShown),
      // Not followed to new names, which their owner may not learn.
      hidden: left.filter((page) => !isShown(page)),
      spaceOf
    }
  }
}
