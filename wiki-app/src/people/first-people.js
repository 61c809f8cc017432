import { userKey } from '../access/users.js'
import { createAudit } from './audit.js'
import { createMembers } from './members.js'
import { definePeople } from './model.js'
import { SERVER } from './new-member.js'
import { createUsers } from './users.js'

/** @import {Connection} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */

/**
 * For the person who runs the wiki: no administrator is needed, so it makes the first one, and brings the last one
 * back.
 * @param {Connection} connection @param {import('../access/users.js').UsersFile | null} file
 */
export function createFirstPeople (connection, file) {
  const models = definePeople(connection)
  const { isInFile } = createUsers({ file, models, whileAvailable: (work) => work })
  const audit = createAudit({ connection, models })
  const members = createMembers({ connection, models, audit, isInFile, namesInFile: file?.names ?? [] })

  /**
   * @param {string} name @param {Role} [role]  default editor for a new person, and no change for a known one
   * @returns {Promise<string>} the secret of a link with which a password is chosen
   */
  return async (name, role) => {
    const found = await models.Members.findOne({ _id: userKey(name) }).lean().exec()
    if (found === null) return members.invite(SERVER, name, role ?? 'editor')
    if (found.blocked_at !== null) await members.unblock(SERVER, name)
    if (role !== undefined) await members.setRole(SERVER, name, role)
    return members.renewLink(SERVER, name)
  }
}
