import createError from '@fastify/error'
import { asInWiki, personOf } from '../access/places.js'
import { driverOf } from '../database/driver.js'
import { NotInSpace } from './guards.js'

/** @import {Scope} from '../protection/scope.js' */
/** @import {FindSpace} from './find-space.js' */
/** @import {Space, SpaceModels} from './model.js' */

const OutsideSpace = createError(
  'WIKI_OUTSIDE_SPACE',
  'Nothing was changed: “%s” is not in the private space “%s”. Its names are that one, and longer ones ' +
    'such as “%s/Plan”.',
  409
)

/**
 * Of the rules and proposals of all spaces, those of the space that a person has a role in.
 * @param {Pick<SpaceModels, 'Spaces'>} models @param {Pick<FindSpace, 'find' | 'roleIn'>} finding
 * @returns {Scope}
 */
export function createSpaceScope (models, { find, roleIn }) {
  const spaces = driverOf(models.Spaces)

  return {
    // No space has the name ''.
    of: ({ space = '' }) => ({ space }),

    // A write, not only a read: a space that closes at the same time conflicts with it, and counts what is stored, or
    // refuses it.
    async enter (name, person, demanded, session) {
      const root = (await find(name, session))?._id ?? ''
      if (person.space !== undefined && person.space !== root) {
        throw new OutsideSpace(name, person.space, person.space)
      }
      const space = /** @type {Space | null} */ (await spaces
        .findOneAndUpdate({ _id: root, state: 'open' }, { $inc: { reviewed: 1 } }, { session }))
      if (space === null) throw new NotInSpace(name)
      /** @type {typeof roleIn} */
      const roleNow = (of, person) => roleIn(of, person, session)
      await personOf({ roleIn: roleNow }, space, demanded, asInWiki(person))
      return { space: space._id }
    }
  }
}
