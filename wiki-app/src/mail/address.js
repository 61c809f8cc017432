const PORT = 587
const TLS_PORT = 465

/**
 * At most 254 characters, as browsers check them (https://html.spec.whatwg.org/#valid-e-mail-address), and with a dot
 * in the domain. No such address has a blank, a line end, a comma or a bracket, so it cannot become two, or a header.
 */
export const MAIL_ADDRESS_PATTERN = '^(?=.{3,254}$)[A-Za-z0-9.!#$%&\'*+/=?^_`{|}~-]{1,64}@' +
  '(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$'
const MAIL_ADDRESS = new RegExp(MAIL_ADDRESS_PATTERN)

/** @param {string} text */
export const isMailAddress = (text) => MAIL_ADDRESS.test(text)

/**
 * Where mail is handed over.
 * @typedef {object} SmtpAddress
 * @property {string} host
 * @property {number} port
 * @property {boolean} tls  from the first byte
 * @property {{user: string, pass: string} | null} login
 */

const URI = new RegExp('^(?<scheme>smtps?)://(?:(?<user>[^:@/#?]+):(?<password>[^@/#?]+)@)?' +
  '(?:\\[(?<ipv6>[0-9A-Fa-f:.]+)\\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\\d{1,5}))?/?$')

/**
 * `smtp[s]://[user:password@]host[:port]`. Parsed here: nodemailer takes any of its options from a URL's query, also
 * those that switch checks off or log passwords.
 * @param {string} uri
 * @returns {SmtpAddress | null} null when it is none
 */
export function parseSmtpUrl (uri) {
  const { scheme = '', user, password, ipv6, name, port } = URI.exec(uri)?.groups ?? {}
  if (scheme === '' || Number(port) > 65_535 || Number(port) === 0) return null
  const tls = scheme === 'smtps'
  try {
    return {
      host: ipv6 ?? name,
      port: Number(port ?? (tls ? TLS_PORT : PORT)),
      tls,
      login: user === undefined ? null : { user: decodeURIComponent(user), pass: decodeURIComponent(password) }
    }
  } catch {
    return null
  }
}
