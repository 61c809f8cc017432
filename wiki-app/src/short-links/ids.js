import { randomBytes } from 'node:crypto'

/** Crockford's Base32 in lower case: without i, l, o and u, so that it can be read out and typed. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID_CHARS = 8

/** Of a chosen id, and so of every id. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{2,40}$'
const ID = new RegExp(ID_PATTERN)
const PREFIX = '/s/'

/** Forty random bits: a collision is a duplicate key, and the transaction is tried again with another id. */
export const randomId = () => Array.from(randomBytes(ID_CHARS), (byte) => ALPHABET[byte % ALPHABET.length]).join('')

/** @param {string} text */
export const isId = (text) => ID.test(text)

/** @param {string} id */
export const shortLinkUrl = (id) => PREFIX + id

/** @param {string} url  of a request @returns {string | undefined} undefined: it has another form */
export function idAt (url) {
  const id = url.startsWith(PREFIX) ? url.slice(PREFIX.length) : ''
  return ID.test(id) ? id : undefined
}
