export const API_URL = 'https://api.cloudflare.com/client/v4'

/**
 * Checks the API's base URL.
 * @param {string} [text]  a URL without a path gets Cloudflare's usual path
 * @returns {string} without a slash at the end
 * @throws {RangeError} when the token must not be sent to this URL
 */
export function parseApiUrl (text = API_URL) {
  const url = URL.canParse(text) ? new URL(text) : null
  const loopback =
    url !== null &&
    (/^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(url.hostname) || url.hostname.endsWith('.localhost'))
  if (
    url === null ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== '' ||
    (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))
  ) {
    // The message does not show the URL: it may hold a password.
    throw new RangeError(
      'the API\'s address must be an https URL (http on this machine alone), without a user, a password or a query'
    )
  }
  return url.pathname === '/' ? `${url.origin}/client/v4` : url.href.replace(/\/+$/, '')
}
