/** The fake turns this error into an error envelope. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {number} code  Cloudflare's error code
   * @param {string} message
   * @param {Record<string, string>} [headers]
   */
  constructor (status, code, message, headers = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/**
 * @param {number} status
 * @param {number} code
 * @param {string} message
 * @param {Record<string, string>} [headers]
 */
export const refusal = (status, code, message, headers) => new Refusal(status, code, message, headers)

/**
 * @param {any} body
 * @param {readonly string[]} known
 */
export function unknownFields (body, known) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw refusal(400, 6003, 'Invalid request: the body is not a JSON object')
  }
  for (const field of Object.keys(body)) {
    if (!known.includes(field)) throw refusal(400, 6003, `Invalid request: unknown field "${field}"`)
  }
}
