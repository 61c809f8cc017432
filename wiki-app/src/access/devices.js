import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { userKey } from './users.js'

/** @import {User} from './users.js' */

const ID_BYTES = 16
const FORMAT = /^([\w-]{22})\.([\w-]{43})$/

/**
 * Recognises browsers that have signed in with a name before: their failures are counted apart. It grants no access.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 * The HMAC key is the hash of the password: all processes have it, and a new password changes it.
 * @param {import('./users.js').Users} users
 */
export function createDevices (users) {
  /** @param {User} user @param {string} id */
  const sealOf = ({ name, password }, id) =>
    createHmac('sha256', password).update(`device ${id} ${userKey(name)}`).digest()

  return {
    /** @param {User} user @returns {string} the cookie's value */
    begin (user) {
      const id = randomBytes(ID_BYTES).toString('base64url')
      return `${id}.${sealOf(user, id).toString('base64url')}`
    },

    /**
     * @param {string | undefined} cookie
     * @param {string} name  as typed into the sign-in form
     * @returns {Promise<string | null>} the browser's id; null when this name has not signed in from it
     */
    async idOf (cookie, name) {
      const [, id, seal] = FORMAT.exec(cookie ?? '') ?? []
      const user = id === undefined ? null : await users.find(name)
      // Without a password there is no key, and everybody could make a seal.
      if (user === null || user.password === '') return null
      const expected = sealOf(user, id)
      const given = Buffer.from(seal, 'base64url')
      return given.length === expected.length && timingSafeEqual(given, expected) ? id : null
    }
  }
}
