/** Of a request's body, headers excluded. */
export const BODY_MAX_BYTES = 16 * 1024

const KEY = /^[a-z0-9-]{1,80}$/
const TEXT_MAX_CHARS = 10_000

/** @typedef {{_id: string, number: number, text: string}} Stored  a record as it is in the database */

/**
 * Makes the stored form of a record that a client sent. Only the three known fields pass: nothing that a client calls
 * `$where`, `__proto__` or `constructor` gets near the database.
 * @param {unknown} body  as parsed from JSON
 * @returns {Stored | string} or what is wrong with it
 */
export function storedForm (body) {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return 'a record is a JSON object'
  const unknown = Object.keys(body).find((name) => !['key', 'number', 'text'].includes(name))
  if (unknown !== undefined) return 'a record has the fields key, number and text, and no others'
  const { key, number, text } = /** @type {Record<string, unknown>} */ (body)
  if (typeof key !== 'string' || !KEY.test(key)) return 'key must be 1 to 80 of a-z, 0-9 and -'
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) return 'number must be a whole number'
  if (typeof text !== 'string' || text.length > TEXT_MAX_CHARS) {
    return `text must have at most ${TEXT_MAX_CHARS} characters`
  }
  return { _id: key, number, text }
}

/** Of its fields' names, its number and what BSON puts around them. */
const FIXED_BYTES = 50

/** @param {Stored} record @returns {number} bytes of memory that it takes, about */
export const bytesOf = ({ _id: key, text }) => FIXED_BYTES + key.length + Buffer.byteLength(text)
