import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** @import {ScryptOptions} from 'node:crypto' */

/** @typedef {(password: string, salt: Buffer, bytes: number, options: ScryptOptions) => Promise<Buffer>} Derive */
const derive = /** @type {Derive} */ (promisify(scrypt))

/** A third of a second and 32 MiB a guess (OWASP's Password Storage Cheat Sheet). */
const COST = { ln: 15, r: 8, p: 3 }
/** Weaker hashes do not protect; stronger ones let sign-ins exhaust the machine. */
const LN_MIN = 14
const LN_MAX = 17
const R_MAX = 8
const P_MAX = 8
export const PASSWORD_MIN_CHARS = 10
export const PASSWORD_MAX_CHARS = 1_000
const SALT_BYTES = 16
const KEY_BYTES = 32

/** https://github.com/P-H-C/phc-string-format */
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

/** @param {Buffer} bytes */
const encode = (bytes) => bytes.toString('base64').replace(/=+$/, '')

/**
 * @param {string} password
 * @param {{ln: number, r: number, p: number}} [cost]  scrypt's parameters (RFC 7914 §2); ln is log2 of N
 * @returns {Promise<string>} for `isPassword`
 */
export async function hashPassword (password, cost = COST) {
  const salt = randomBytes(SALT_BYTES)
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${encode(salt)}$${encode(await keyOf(password, salt, cost))}`
}

/** @param {string} password @param {string} hash  for which `isPasswordHash` holds */
export async function isPassword (password, hash) {
  const { cost, salt, key } = /** @type {NonNullable<ReturnType<typeof parse>>} */ (parse(hash))
  return timingSafeEqual(await keyOf(password, salt, cost), key)
}

/** @param {string} text */
export const isPasswordHash = (text) => parse(text) !== null

/** @param {string} hash */
function parse (hash) {
  const [, ln, r, p, salt, key] = FORMAT.exec(hash) ?? []
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  const usable = cost.ln >= LN_MIN && cost.ln <= LN_MAX &&
    cost.r >= 1 && cost.r <= R_MAX &&
    cost.p >= 1 && cost.p <= P_MAX
  return usable ? { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') } : null
}

/** @param {string} password @param {Buffer} salt @param {{ln: number, r: number, p: number}} cost */
function keyOf (password, salt, { ln, r, p }) {
  const N = 2 ** ln
  return derive(password.normalize('NFC'), salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r })
}
