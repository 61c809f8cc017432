/**
 * Adds a Retry-After header to an error's response: when the same request may succeed.
 * https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 * @template {Error} Failure
 * @param {Failure} error
 * @param {number} [seconds]
 * @returns {Failure & {headers: {'retry-after': string}}}
 */
export const retryAfter = (error, seconds = 2) => Object.assign(error, { headers: { 'retry-after': String(seconds) } })
