import fresh from 'fresh'

/**
 * Returns whether the client has the current response (RFC 9110 §13.1.2, §13.1.3). A date counts only if it equals the
 * one that was sent, like nginx's `if_modified_since exact`: after a clock was set back, a newer text has an earlier
 * date.
 * @param {import('node:http').IncomingHttpHeaders} headers  of the request
 * @param {{etag: string, 'last-modified': string}} validators
 */
export function hasCurrent (headers, validators) {
  return fresh(headers, validators) &&
    (headers['if-none-match'] !== undefined || headers['if-modified-since'] === validators['last-modified'])
}

/**
 * Returns whether the client wants the page only if it differs from its own copy (RFC 9110 §13.1).
 * @param {import('node:http').IncomingHttpHeaders} headers  of the request
 */
export const isConditional = (headers) =>
  headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined
