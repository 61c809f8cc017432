import { ConfigError } from '../config-error.js'
import { choice, isThere, optional, text } from '../setting-readers.js'

/** @import {Config} from '../settings.js' */

const ISSUER_MAX_CHARS = 500
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
const VISIBLE = /^[\x21-\x7e]{1,500}$/

/** Sign-in with OpenID Connect. */
export const OIDC_SETTINGS = {
  OIDC_ISSUER: optional(text(isIssuer, {
    allowed: 'the address of the provider as it calls itself, without a query: https://login.example/realms/firm; ' +
      'http:// is for this machine alone',
    shown: 'no provider',
    does: 'the OpenID Connect provider; with `ACCESS=users` and `PUBLIC_URL`, see below'
  })),
  OIDC_CLIENT_ID: optional(text((id) => VISIBLE.test(id), {
    allowed: 'the id that the provider has given to the wiki, without blanks',
    does: 'the wiki’s id there'
  })),
  OIDC_CLIENT_SECRET: optional(text((secret) => VISIBLE.test(secret), {
    allowed: 'the secret that the provider has given to the wiki, without blanks',
    does: 'its secret there',
    secret: true
  })),
  OIDC_CLIENT_SECRET_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the secret and nothing else',
    does: 'a file with it, instead'
  })),
  OIDC_LABEL: optional(text((label) => /^[^\p{C}]{1,40}$/u.test(label) && label.trim() === label, {
    allowed: 'a name of 1 to 40 characters',
    shown: 'the provider’s host',
    does: 'what the provider is called on the button: “Sign in with …”'
  })),
  OIDC_NEW_PEOPLE: choice(['none', 'reader', 'editor'], {
    default: 'none',
    does: 'the role of new people from there: `reader`, `editor`, or `none`: by invitation alone'
  })
}

/** OpenID Connect Core 1.0 §2: scheme, host, perhaps port and path. @param {string} given */
function isIssuer (given) {
  if (given.length > ISSUER_MAX_CHARS || !/^https?:\/\/[^?#@\s]+$/.test(given) || !URL.canParse(given)) return false
  const { protocol, hostname } = new URL(given)
  return protocol === 'https:' || LOOPBACK.test(hostname)
}

const NEEDED = /** @type {const} */ (['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'PUBLIC_URL'])
const NEED_ISSUER = /** @type {const} */ (['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_LABEL'])

/** @param {Config} config @throws {ConfigError} */
export function checkOidc (config) {
  const { OIDC_ISSUER: issuer, OIDC_NEW_PEOPLE: role, ACCESS: access } = config
  if (issuer === undefined) {
    const useless = NEED_ISSUER.find((name) => config[name] !== undefined) ??
      (role === 'none' ? undefined : 'OIDC_NEW_PEOPLE')
    if (useless !== undefined) {
      throw new ConfigError(`${useless} is not allowed without OIDC_ISSUER, the provider that it is for: set it, or ` +
        `unset ${useless}`)
    }
    return
  }
  const missing = NEEDED.filter((name) => config[name] === undefined)
  if (missing.length > 0) {
    throw new ConfigError(`OIDC_ISSUER is not allowed without ${missing.join(', ')}: set them, too`)
  }
  if (access !== 'users') {
    throw new ConfigError(`OIDC_ISSUER is not allowed with ACCESS=${access}, where nobody signs in: set ` +
      'ACCESS=users, or unset OIDC_ISSUER')
  }
}
