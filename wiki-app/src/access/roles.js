import { isUnsafe } from '../http/same-origin.js'

/** `open`: anyone writes; `read-only`: nobody does; `users`: those in the users' file, by their role. */
export const ACCESS_MODES = /** @type {const} */ (['open', 'read-only', 'users'])
/** @typedef {(typeof ACCESS_MODES)[number]} AccessMode */

/** Each may do what those before it may. A reader has an account that may not write (yet, or any more). */
export const ROLES = /** @type {const} */ (['reader', 'editor', 'admin'])
/** @typedef {(typeof ROLES)[number]} Role */

/** @typedef {Role | 'anyone'} Demand  the least role that a route asks for */

/**
 * @param {Role} role
 * @param {Role} demanded
 */
export const suffices = (role, demanded) => ROLES.indexOf(role) >= ROLES.indexOf(demanded)

/** What is for one person: only there a cookie counts, and no cache keeps anything. */
const PERSONAL = '/edit/'

/** @param {string | undefined} pattern  of a route's URL */
export const isPersonal = (pattern) => pattern?.startsWith(PERSONAL) ?? false

/**
 * What a route asks for that does not say so itself with `config: { role }`.
 * @param {string} pattern
 * @param {string | string[]} methods
 * @returns {Demand}
 */
export const defaultDemand = (pattern, methods) => [methods].flat().some(isUnsafe) || isPersonal(pattern) ? 'editor' : 'anyone'
