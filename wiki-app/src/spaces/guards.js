import createError from '@fastify/error'
import { NO_GUARD } from '../protection/guard.js'

/** @import {Protection, WriteGuard} from '../protection/guard.js' */
/** @import {FindSpace} from './find-space.js' */

const InSpace = createError(
  'WIKI_IN_SPACE',
  'Nothing was changed: “%s” is a name in the private space “%s”, and public pages do not go there. ' +
    'Make the page in the space with this text, then delete the public one.',
  409
)
export const NotInSpace = createError(
  'WIKI_NOT_IN_SPACE',
  'Nothing was changed: “%s” is in no private space, or in one that is being made or removed. Load the page again.',
  409
)
const LeavesSpace = createError(
  'WIKI_LEAVES_SPACE',
  'Nothing was renamed: “%s” is not in the private space of “%s”. ' +
    'A page stays in its space: make a page with its text there, then delete this one.',
  409
)

/**
 * What the transactions of both stores ask before they write, so that a page is never stored in the wrong one. Spaces
 * that come or go at the same time make them begin again, see spaces.js.
 * @param {Pick<FindSpace, 'spacesOf'>} finding @param {Protection} [protection]  of public pages
 * @param {Protection} [inside]  of pages in spaces
 * @returns {{ofPublic: WriteGuard, ofSpaces: WriteGuard}}
 */
export function createSpaceGuards ({ spacesOf }, protection = NO_GUARD, inside = NO_GUARD) {
  return {
    ofPublic: {
      async refusals (writes, session) {
        const spaceOf = await spacesOf(writes.map(({ name }) => name), session)
        const refused = new Map(writes.flatMap(({ name }) => {
          const space = spaceOf(name)
          return space === null ? [] : [pair(name, new InSpace(name, space._id))]
        }))
        return new Map([...await protection.refusals(writes, session), ...refused])
      },
      refuseMove: NO_GUARD.refuseMove,
      follow: protection.follow
    },
    ofSpaces: {
      async refusals (writes, session) {
        const spaceOf = await spacesOf(writes.map(({ name }) => name), session)
        const refused = writes.filter(({ name }) => spaceOf(name)?.state !== 'open')
        const closed = refused.map(({ name }) => pair(name, new NotInSpace(name)))
        return new Map([...await inside.refusals(writes, session), ...closed])
      },

      // Subpages and talk pages stay with their page.
      async refuseMove (from, to, session) {
        const spaceOf = await spacesOf([from, to], session)
        if (spaceOf(from)?._id !== spaceOf(to)?._id) throw new LeavesSpace(to, from)
      },

      follow: inside.follow
    }
  }
}

/** @param {string} name @param {Error} refusal @returns {[string, Error]} */
const pair = (name, refusal) => [name, refusal]
