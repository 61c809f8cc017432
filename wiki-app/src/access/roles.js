import { isUnsafe } from '../http/same-origin.js'

export const ACCESS_MODES = /** @type {const} */ (['open', 'read-only', 'users'])
/** @typedef {(typeof ACCESS_MODES)[number]} AccessMode */

/** Each includes those before it. */
export const ROLES = /** @type {const} */ (['reader', 'editor', 'admin'])
/** @typedef {(typeof ROLES)[number]} Role */

/** @typedef {Role | 'anyone'} Demand  the least role that a route demands */

/** @param {Role} role @param {Role} demanded */
export const suffices = (role, demanded) => ROLES.indexOf(role) >= ROLES.indexOf(demanded)

/** Only below this cookies count, and caches store nothing. */
const PERSONAL = '/edit/'

/** @param {string | undefined} pattern  of a route's URL */
export const isPersonal = (pattern) => pattern?.startsWith(PERSONAL) ?? false

/** @param {string} pattern @param {string | string[]} methods @returns {Demand} */
export const defaultDemand = (pattern, methods) =>
  [methods].flat().some(isUnsafe) || isPersonal(pattern) ? 'editor' : 'anyone'
