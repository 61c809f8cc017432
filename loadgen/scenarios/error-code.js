// The code of a sample whose response is not as it must be.
import { isRightAnswer, WRONG_ANSWER } from './short-links.js'

/** In place of k6's error code: the client and the door agreed on another protocol. */
export const WRONG_PROTOCOL = 9001

/** As k6 names them. At a plain door there is no choice. @type {Record<string, string | undefined>} */
const NAMES = { https: 'HTTP/1.1', http2: 'HTTP/2.0' }

/**
 * @param {import('../src/stack/certificate.js').Protocol} protocol  that every response must have come by
 */
export function createErrorCodes (protocol) {
  const name = NAMES[protocol]

  /**
   * @param {import('k6/http').RefinedResponse<any>} response
   * @param {string} method
   * @param {string} [linksTo]
   * @returns {string} k6's, WRONG_PROTOCOL or WRONG_ANSWER; '' for none
   */
  return function errorCodeOf (response, method, linksTo) {
    if (name !== undefined && response.status > 0) {
      if (response.proto !== name || response.tls_version !== 'tls1.3') return String(WRONG_PROTOCOL)
    }
    if (response.error_code) return String(response.error_code)
    if (linksTo === undefined || response.status >= 400) return ''
    const { status, headers: { Location: location } } = response
    return isRightAnswer({ method, status, location }, linksTo) ? '' : String(WRONG_ANSWER)
  }
}
