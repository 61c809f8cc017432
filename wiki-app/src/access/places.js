import createError from '@fastify/error'
import { canonicalName } from '../pages/name.js'
import { pageAsked } from '../reading/address.js'
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
  const { query, routeOptions } = request
  const { space = '' } = /** @type {Record<string, unknown>} */ (query)
  const { withoutDatabase } = /** @type {{withoutDatabase?: WithoutDatabase}} */ (routeOptions.config)
  try {
    return await find(canonicalName(pageAsked(request) ?? String(space)))
  } catch (error) {
    // A save that waits for the database is refused there, if it may not be stored.
    const isOfName = /** @type {{statusCode?: number}} */ (error).statusCode === 400
    if (isOfName || withoutDatabase?.(request)) return null
    throw error
  }
}

/**
 * @param {Pick<Finding, 'roleIn'>} spaces @param {Space} space @param {Role} demanded @param {Person} user
 * @returns {Promise<Person>} with the role in the space
 * @throws {Error} 403, the same for all pages, whether they exist or not
 */
export async function personOf ({ roleIn }, space, demanded, user) {
  const role = await roleIn(space, user)
  if (role === null || !suffices(role, demanded)) throw new NotOfSpace(space._id, demanded)
  return { name: user.name, role, ofWiki: user.role }
}
