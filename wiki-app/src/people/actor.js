/** @import {Person} from '../access/access.js' */
/** @import {Actor} from './audit.js' */

/**
 * The audit log confirms administrators of the wiki, also where they act in a private space.
 * @param {(name: string) => boolean} isInFile  whether USERS_FILE has that person
 */
export const createActorOf = (isInFile) =>
  /** @param {Person} person  an administrator @returns {Actor} */
  ({ name, space, ofWiki }) => ({ name, inFile: isInFile(name), ofSpace: space !== undefined && ofWiki !== 'admin' })
