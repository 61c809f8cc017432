export const API_URL = 'https://api.cloudflare.com/client/v4'

/**
 * @param {string} [text]  without a path, Cloudflare's usual one is meant
 * @returns {string} without a slash at its end
 * @throws {RangeError} when it is no URL that a token may be sent to
 */
export function parseApiUrl (text = API_URL) {
  const url = URL.canParse(text) ? new URL(text) : null
  const loopback = url !== null && (/^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(url.hostname) || url.hostname.endsWith('.localhost'))
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '' || (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))) {
    // The text is not shown: it may hold a password.
    throw new RangeError('the API\'s address must be an https URL (http on this machine alone), without a user, a password or a query')
  }
  return url.pathname === '/' ? `${url.origin}/client/v4` : url.href.replace(/\/+$/, '')
}
