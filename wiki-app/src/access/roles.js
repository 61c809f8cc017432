import { isUnsafe } from '../http/same-origin.js'

export const ACCESS_MODES = /** @type {const} */ (['open', 'read-only', 'users'])
/** @typedef {(typeof ACCESS_MODES)[number]} AccessMode */

/** The readers. With `members` every route demands a role, unless its config says `forStrangers`. */
export const READ_ACCESSES = /** @type {const} */ (['everyone', 'members'])
/** @typedef {(typeof READ_ACCESSES)[number]} ReadAccess */

/** Each includes those before it. */
export const ROLES = /** @type {const} */ (['reader', 'editor', 'admin'])
/** @typedef {(typeof ROLES)[number]} Role */

/** @typedef {Role | 'anyone'} Demand  the least role that a route demands */

/** @param {Role} role @param {Role} demanded */
export const suffices = (role, demanded) => ROLES.indexOf(role) >= ROLES.indexOf(demanded)

/**
 * For what a document shows; routes demand roles themselves. Those who are unknown may once they have signed in.
 * @param {AccessMode} mode @param {{role: Role} | null} person
 */
export const mayWrite = (mode, person) =>
  mode !== 'read-only' && (person === null || suffices(person.role, 'editor'))

/** While everybody reads, cookies count only below this, and caches store nothing there. */
const PERSONAL = '/edit/'

/** @param {string | undefined} pattern  of a route's URL */
export const isPersonal = (pattern) => pattern?.startsWith(PERSONAL) ?? false

/** @param {string} pattern @param {string | string[]} methods @returns {Demand} */
export const defaultDemand = (pattern, methods) =>
  [methods].flat().some(isUnsafe) || isPersonal(pattern) ? 'editor' : 'anyone'
