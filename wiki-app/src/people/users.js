import { isPassword } from '../access/password.js'
import { sha256, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'

/** @import {User, Users, UsersFile} from '../access/users.js' */
/** @import {PeopleModels} from './model.js' */

/** Of a password that nobody knows, as strong as the hashes that `hashPassword` makes. */
const DECOY = '$scrypt$ln=15,r=8,p=3$zUO31ZVowp8Rv6Q9B5/eMQ$OB/8yarPK0ChD5kKc54sjVwt2WgjrNnL6TO2vB921ac'

/** People from the provider have no password. */
const CONNECTED = { identity: { $exists: true } }

/** Only tokens that the wiki has made are looked up. */
const TOKEN = /^stevec_/

/**
 * Everybody whom the wiki knows: those of USERS_FILE, and the members in the database. A name in the file hides the
 * member of that name.
 * @typedef {import('../database/database.js').Database['whileAvailable']} WhileAvailable
 * @param {{file: UsersFile | null, models: PeopleModels, whileAvailable: WhileAvailable}} parts
 * @returns {Users}
 */
export function createUsers ({ file, models, whileAvailable }) {
  const members = driverOf(models.Members)
  const findOne = whileAvailable(
    (/** @type {import('mongoose').mongo.Filter<any>} */ filter) => members.findOne(filter)
  )

  return {
    isInFile: (name) => file !== null && file.find(name) !== null,

    async find (name) {
      return file?.find(name) ??
        await findOne({ _id: userKey(name), blocked_at: null, $or: [{ password: { $ne: '' } }, CONNECTED] })
    },

    /** By hash, so that the time it takes reveals nothing about the token. */
    async byToken (token) {
      const found = file?.byToken(token) ?? null
      if (found !== null || !TOKEN.test(token)) return found
      const member = await findOne({ 'tokens.sha256': sha256(token), blocked_at: null })
      return member !== null && file?.find(member.name) ? null : member
    },

    /** Takes as long for an unknown name. */
    async check (name, password) {
      const user = file?.find(name) ?? await findOne({ _id: userKey(name) })
      const isRight = await isPassword(password, user?.password || (file?.decoyFor(name) ?? DECOY))
      if (!isRight || !user?.password) return null
      return { ...user, blocked: 'blocked_at' in user && user.blocked_at !== null }
    }
  }
}
