import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** People find their telephone for the second factor. */
export const FLOW_MAX_S = 600
const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
/** What browsers keep of a cookie. */
const COOKIE_MAX_CHARS = 4_000

/**
 * A sign-in that has begun.
 * @typedef {object} Flow
 * @property {string} state
 * @property {string} nonce
 * @property {string} verifier  of PKCE
 * @property {string} to  where it leads, in this wiki
 * @property {string} [invitation]  the secret of a link: its owner gets the identity
 * @property {string[]} sessions  of this browser until now, at most two
 * @property {number} endsAtMs  since 1970
 */

/**
 * The browser keeps its flow: so each process of the wiki can finish it, strangers fill no database, and no other
 * browser has it. It is encrypted, with a key that all processes have.
 * @param {string} clientSecret
 */
export function createFlowCookie (clientSecret) {
  const key = Buffer.from(hkdfSync('sha256', clientSecret, '', 'stevec sign-in', 32))

  return {
    /** @param {Omit<Flow, 'endsAtMs'>} flow @returns {string} */
    seal (flow) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, iv)
      const text = JSON.stringify({ ...flow, endsAtMs: Date.now() + 1000 * FLOW_MAX_S })
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },

    /** @param {string | undefined} cookie @returns {Flow | null} null: not from this wiki, or too old */
    open (cookie) {
      if (cookie === undefined || cookie.length > COOKIE_MAX_CHARS) return null
      const bytes = Buffer.from(cookie, 'base64url')
      if (bytes.length <= IV_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
        const flow = /** @type {Flow} */ (JSON.parse(text.toString('utf8')))
        return flow.endsAtMs > Date.now() ? flow : null
      } catch {
        return null
      }
    }
  }
}
