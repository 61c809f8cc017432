import fresh from 'fresh'

/** @import {IncomingHttpHeaders} from 'node:http' */

/**
 * RFC 9110 §13.1.2, §13.1.3. A date must equal the one sent: after a clock was set back, a newer text has an earlier
 * date.
 * @param {IncomingHttpHeaders} headers @param {{etag: string, 'last-modified': string}} validators
 */
export function hasCurrent (headers, validators) {
  return fresh(headers, validators) &&
    (headers['if-none-match'] !== undefined || headers['if-modified-since'] === validators['last-modified'])
}

/** RFC 9110 §13.1 @param {IncomingHttpHeaders} headers */
export const isConditional = (headers) =>
  headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined
