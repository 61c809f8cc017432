import { WRONG_PROTOCOL } from '../../scenarios/error-code.js'
import { WRONG_ANSWER } from '../../scenarios/short-links.js'

/**
 * How a request failed. `status` is a response of 400 and above, `wrong-answer` one below that is not what a short link
 * must have, `wrong-protocol` any that came by another one than the setting; all others have no complete response.
 * @typedef {'' | 'dns' | 'refused' | 'connect-timeout' | 'unreachable' | 'tls' | 'reset' |
 *   'closed' | 'timeout' | 'status' | 'wrong-answer' | 'wrong-protocol' | 'other'} Failure
 */

/**
 * What the request had come to; '' for a complete response.
 * @typedef {'' | 'connect' | 'wait' | 'receive'} Phase
 */

/** In place of a failure: a planned request of the open model that was not sent. */
export const NEVER_SENT = 'never-sent'

/**
 * Names the failure of a request.
 * https://grafana.com/docs/k6/latest/javascript-api/error-codes/
 * @param {number} status  0: no complete response
 * @param {number} errorCode  k6's, WRONG_PROTOCOL or WRONG_ANSWER, 0 for none
 * @param {Phase} phase
 * @returns {Failure}
 */
export function failureOf (status, errorCode, phase) {
  if (errorCode === WRONG_PROTOCOL) return 'wrong-protocol'
  if (status >= 400) return 'status'
  if (status > 0) return errorCode === WRONG_ANSWER ? 'wrong-answer' : ''
  if (errorCode === 1050) return phase === 'connect' ? 'connect-timeout' : 'timeout'
  if (errorCode === 1211) return 'connect-timeout'
  if (errorCode === 1212) return 'refused'
  if (errorCode === 1201 || errorCode === 1220) return 'reset'
  if (errorCode === 1210 || errorCode === 1213) return 'unreachable'
  if (errorCode >= 1100 && errorCode < 1200) return 'dns'
  if (errorCode >= 1300 && errorCode < 1400) return 'tls'
  // k6's default: the connection ended before the response was complete.
  return errorCode === 1000 && phase !== 'connect' ? 'closed' : 'other'
}
