import fresh from 'fresh'

/**
 * Whether a reader has what would be sent (RFC 9110 §13.1.2, §13.1.3). A date counts only when it is the very one that was given out, as with nginx's
 * `if_modified_since exact`: after a clock was set back, a newer text has an earlier date.
 * @param {import('node:http').IncomingHttpHeaders} headers  of the request
 * @param {{etag: string, 'last-modified': string}} validators
 */
export function hasCurrent (headers, validators) {
  return fresh(headers, validators) && (headers['if-none-match'] !== undefined || headers['if-modified-since'] === validators['last-modified'])
}

/**
 * Whether a reader asks for a page only if it is another than the one that they have (RFC 9110 §13.1).
 * @param {import('node:http').IncomingHttpHeaders} headers  of the request
 */
export const isConditional = (headers) => headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined
