import createError from '@fastify/error'
import { canonicalName } from '../pages/name.js'
import { pageAsked } from '../reading/address.js'
import { NoSpace } from '../spaces/find-space.js'
import { suffices } from './roles.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {WithoutDatabase} from '../http/limit-handlers.js' */
/** @import {FindSpace} from '../spaces/find-space.js' */
/** @import {Space} from '../spaces/model.js' */
/** @import {Person} from './access.js' */
/** @import {Role} from './roles.js' */

export const NotOfSpace = createError(
  'WIKI_NOT_OF_SPACE',
  '“%s” and the names below it are a private space, and no group of yours has the role %s there. ' +
    'An administrator of the space, or of the wiki, can change that.',
  403
)

/** @typedef {Pick<FindSpace, 'find' | 'roleIn'>} Finding */

/**
 * The space of the name in the address, or in the query of a list of one space.
 * @param {Finding} spaces @param {FastifyRequest} request
 * @returns {Promise<Space | null>} null also for what can be no name: the handler says so
 */
export async function spaceOf ({ find }, request) {
  const { withoutDatabase } = /** @type {{withoutDatabase?: WithoutDatabase}} */ (request.routeOptions.config)
  try {
    return await find(canonicalName(askedName(request)))
  } catch (error) {
    // A save that waits for the database is refused there, if it may not be stored.
    const isOfName = /** @type {{statusCode?: number}} */ (error).statusCode === 400
    if (isOfName || withoutDatabase?.(request)) return null
    throw error
  }
}

/** @param {FastifyRequest} request @returns {string} as the client spells it */
function askedName (request) {
  const { space = '' } = /** @type {Record<string, unknown>} */ (request.query)
  return pageAsked(request) ?? String(space)
}

/**
 * @param {Pick<Finding, 'roleIn'>} spaces @param {Space} space @param {Role} demanded @param {Person} user
 * @returns {Promise<Person>} with the role in the space
 * @throws {Error} 403, the same for all pages, whether they exist or not
 */
export async function personOf ({ roleIn }, space, demanded, user) {
  return inSpace(space, await roleIn(space, user), demanded, user)
}

/**
 * Where the address names a space, and not a page in it.
 * @param {Pick<Finding, 'roleIn'>} spaces @param {FastifyRequest} request @param {Space | null} space  of that name
 * @param {Role} demanded @param {Person} user
 * @returns {Promise<Person>} with the role in the space
 * @throws {Error} 403; 404, the same for a space that the person may not read and for none
 */
export async function memberOf ({ roleIn }, request, space, demanded, user) {
  const name = askedName(request)
  const role = space !== null && space._id === canonicalName(name) ? await roleIn(space, user) : null
  if (space === null || role === null) throw new NoSpace(name)
  return inSpace(space, role, demanded, user)
}

/** @param {Space} space @param {Role | null} role @param {Role} demanded @param {Person} user @throws {Error} 403 */
function inSpace ({ _id: name }, role, demanded, user) {
  if (role === null || !suffices(role, demanded)) throw new NotOfSpace(name, demanded)
  return { name: user.name, role, ofWiki: user.role, space: name }
}

/** @param {Person} person @returns {Person} with the role in the wiki, also where a request is about a space */
export const asInWiki = ({ name, role, ofWiki = role }) => ({ name, role: ofWiki })
