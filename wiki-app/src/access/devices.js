import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { userKey } from './users.js'

const ID_BYTES = 16
const FORMAT = /^([\w-]{22})\.([\w-]{43})$/

/**
 * Browsers from which a name has signed in before, known by a cookie that gives no right: failures with it are counted
 * for it alone, so failures of others do not keep its owner out.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 * Nothing is stored. The key is the hash of the user's password, which all processes have and a new password changes.
 * @param {import('./users.js').Users} users
 */
export function createDevices (users) {
  /** @param {import('./users.js').User} user @param {string} id */
  const sealOf = ({ name, password }, id) =>
    createHmac('sha256', password).update(`device ${id} ${userKey(name)}`).digest()

  return {
    /**
     * @param {import('./users.js').User} user  of a sign-in that has just succeeded
     * @returns {string} for the cookie
     */
    begin (user) {
      const id = randomBytes(ID_BYTES).toString('base64url')
      return `${id}.${sealOf(user, id).toString('base64url')}`
    },

    /**
     * @param {string | undefined} cookie
     * @param {string} name  as it is given to sign in with
     * @returns {string | null} the browser's id, null when this name has not signed in from it
     */
    idOf (cookie, name) {
      const [, id, seal] = FORMAT.exec(cookie ?? '') ?? []
      const user = users.find(name)
      if (id === undefined || user === null) return null
      const expected = sealOf(user, id)
      const given = Buffer.from(seal, 'base64url')
      return given.length === expected.length && timingSafeEqual(given, expected) ? id : null
    }
  }
}
