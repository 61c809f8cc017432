/** @import {ClientSession} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */

/** A filter of rules and of proposals. @typedef {{space?: string}} InScope */

/**
 * Rules and proposals of public pages are stored apart from those of private spaces. The code for both is the same.
 * `of`: what the person deals with; `enter`: asked in each transaction that stores something about a name.
 * @typedef {object} Scope
 * @property {(person: Person) => InScope} of
 * @property {(name: string, person: Person, demanded: Role, session: ClientSession) => Promise<InScope>} enter
 *   rejects with 403, or 409
 */

/** @type {Scope} */
export const PUBLIC = { of: () => ({}), enter: async () => ({}) }
