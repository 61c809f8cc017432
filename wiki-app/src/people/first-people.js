import { userKey } from '../access/users.js'
import { createAudit } from './audit.js'
import { createMembers } from './members.js'
import { definePeople } from './model.js'
import { createUsers } from './users.js'

/** @import {Connection} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */

/**
 * For the person who runs the wiki: no administrator is needed, so it makes the first one, and brings the last one
 * back.
 * @param {Connection} connection
 */
export function createFirstPeople (connection) {
  const models = definePeople(connection)
  const { isInFile } = createUsers({ file: null, models, whileAvailable: (work) => work })
  const members = createMembers({ connection, models, audit: createAudit({ connection, models }), isInFile })
  const runner = { name: 'wiki-app/bin/user.js', inFile: true }

  /**
   * @param {string} name @param {Role} [role]  default editor for a new person, and no change for a known one
   * @returns {Promise<string>} the secret of a link with which a password is chosen
   */
  return async (name, role) => {
    const found = await models.Members.findOne({ _id: userKey(name) }).lean().exec()
    if (found === null) return members.invite(runner, name, role ?? 'editor')
    if (found.blocked_at !== null) await members.unblock(runner, name)
    if (role !== undefined) await members.setRole(runner, name, role)
    return members.renewLink(runner, name)
  }
}
