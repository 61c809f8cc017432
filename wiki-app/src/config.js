import { customCleanEnv, makeExactValidator, str } from 'envalid'
import mongoose from 'mongoose'
import { parseApiUrl, readToken } from '@stevec/cdn/wiki'
import { ACCESS_MODES } from './access/roles.js'
import { trustOf } from './access/client.js'
import { CACHE_POLICY_NAMES, needsPurges } from './caching/cache-policy.js'
import { ConfigError } from './config-error.js'

const MIB = 1_048_576

/**
 * Every setting, with its default and, in words, what is allowed.
 * A page's Markdown and its HTML share one MongoDB document of at most 16 MiB, hence the upper limit of PAGE_MAX_BYTES.
 */
const SETTINGS = {
  HOST: text(isThere, { default: '127.0.0.1', desc: 'an address or host name to listen on' }),
  PORT: integer(0, 65_535, { default: 3000, desc: 'a whole number from 0 (any free port) to 65535' }),
  WORKERS: integer(1, 64, { default: 1, desc: 'a whole number of processes from 1 to 64' }),
  MONGODB_URI: text(isMongodbUri, { default: 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec', desc: 'mongodb://[user:password@]host[:port][,…]/database[?options]' }),
  CACHE_POLICY: str({ choices: CACHE_POLICY_NAMES, default: 'ttl', desc: `one of ${CACHE_POLICY_NAMES.join(', ')}` }),
  CACHE_TTL_S: integer(0, 31_536_000, { default: 180, desc: 'a whole number of seconds from 0 to 31536000 (a year)' }),
  CACHE_STALE_WHILE_REVALIDATE_S: integer(0, 31_536_000, { default: 60, desc: 'a whole number of seconds from 0 to 31536000 (a year)' }),
  CACHE_STALE_IF_ERROR_S: integer(0, 31_536_000, { default: 0, desc: 'a whole number of seconds from 0 to 31536000 (a year)' }),
  // As many as the driver brings in one answer, so that no read needs a second.
  PAGE_READS_AT_ONCE: integer(1, 100, { default: 100, desc: 'a whole number from 1 (a read of the database for each page view) to 100' }),
  ORIGIN_CACHE_MIB: integer(0, 16_384, { default: 0, desc: 'a whole number of MiB from 0 (off) to 16384' }),
  // A lost purge is not mended before it ends.
  CACHE_CDN_TTL_S: integer(1, 31_536_000, { default: 86_400, desc: 'a whole number of seconds from 1 to 31536000 (a year)' }),
  PAGE_MAX_BYTES: integer(1, 3 * MIB, { default: MIB, desc: 'a whole number of bytes from 1 to 3145728' }),
  UPLOAD_MAX_BYTES: integer(1, 50 * MIB, { default: 5 * MIB, desc: 'a whole number of bytes from 1 to 52428800' }),
  LOG_LEVEL: str({ choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], default: 'warn', desc: 'one of fatal, error, warn, info, debug, trace, silent' }),
  // A line takes a quarter of the time of an answer from memory, so few fit into a second of a small board.
  LOG_VIEWS_PER_S: integer(0, 1_000_000, { default: 10, desc: 'a whole number of lines a second from 0 to 1000000' }),
  ACCESS: str({ choices: ACCESS_MODES, default: 'open', desc: `one of ${ACCESS_MODES.join(', ')}` }),
  USERS_FILE: text(isThere, { default: undefined, desc: 'the path of a file that wiki-app/bin/user.js has made; ACCESS=users needs it, and nothing else does' }),
  // Whether cookies are only for https cannot be told from a request, as whoever ends TLS may stand in front.
  PUBLIC_URL: text(isOrigin, { default: undefined, desc: 'the address of the wiki as visitors see it, without a path: https://wiki.example' }),
  // A person saves a few times a minute; this is for what does not get tired.
  WRITES_PER_MINUTE: integer(0, 100_000, { default: 60, desc: 'a whole number from 0 (no limit) to 100000' }),
  // With the work itself it stays below a second.
  QUEUE_WAIT_MAX_MS: integer(0, 60_000, { default: 500, desc: 'a whole number of milliseconds from 0 (nobody is refused) to 60000' }),
  // Only nginx on the same machine is believed when it says for whom it asks: anybody can send that header.
  TRUSTED_PROXIES: text((proxies) => trustOf(proxies) !== null, { default: 'loopback', desc: 'loopback, linklocal, uniquelocal, addresses or CIDR blocks with commas between, or none' }),
  // Caches are told of edits when their zone is named.
  PURGE_ZONE: text((id) => /^[A-Za-z0-9_-]{1,64}$/.test(id), { default: undefined, desc: 'the id of the zone of the CDN in front, letters, digits, - and _, or not set for no purges' }),
  PURGE_URL: text(isApiUrl, { default: undefined, desc: 'the address of a purge API in the form of Cloudflare\'s, https, or http on this machine; not set: Cloudflare\'s own' }),
  PURGE_TOKEN: text(isThere, { default: undefined, desc: 'the token for it' }),
  PURGE_TOKEN_FILE: text(isThere, { default: undefined, desc: 'the path of a file with the token for it, which its owner alone may read' }),
  PURGE_REPEAT_AFTER_S: integer(1, 3600, { default: 10, desc: 'a whole number of seconds from 1 to 3600' }),
  METRICS_PORT: integer(1, 65_535, { default: undefined, desc: 'a whole number from 1 to 65535, or not set for no metrics' }),
  // Metrics tell of the inside, so nobody else sees them unless asked for.
  METRICS_HOST: text(isThere, { default: '127.0.0.1', desc: 'an address or host name for the metrics to listen on' })
}

/** @typedef {keyof typeof SETTINGS} Setting */

/**
 * @typedef {object} Config
 * @property {string} HOST
 * @property {number} PORT
 * @property {number} WORKERS  processes that answer; with 1 there is no other process
 * @property {string} MONGODB_URI  may hold a password: never for a log or a message
 * @property {import('./caching/cache-policy.js').CachePolicyName} CACHE_POLICY
 * @property {number} CACHE_TTL_S
 * @property {number} CACHE_STALE_WHILE_REVALIDATE_S  of the policy ttl-swr
 * @property {number} CACHE_STALE_IF_ERROR_S
 * @property {number} PAGE_READS_AT_ONCE  how many pages one read of the database brings at most
 * @property {number} ORIGIN_CACHE_MIB  of memory for pages that are ready to be sent
 * @property {number} CACHE_CDN_TTL_S  of the policies purge-url and purge-tag
 * @property {number} PAGE_MAX_BYTES
 * @property {number} UPLOAD_MAX_BYTES  of one picture
 * @property {string} LOG_LEVEL
 * @property {number} LOG_VIEWS_PER_S  lines a second, at the level info, for page views that go well; of each process
 * @property {import('./access/roles.js').AccessMode} ACCESS
 * @property {string} [USERS_FILE]  there when ACCESS is users
 * @property {string} [PUBLIC_URL]
 * @property {number} WRITES_PER_MINUTE  of one client; 0: no limit
 * @property {number} QUEUE_WAIT_MAX_MS  for which a request may wait when more come than can be answered; 0: all are worked at at once, and nobody is refused
 * @property {string} TRUSTED_PROXIES
 * @property {string} [PURGE_ZONE]  there with PUBLIC_URL and PURGE_TOKEN
 * @property {string} [PURGE_URL]
 * @property {string} [PURGE_TOKEN]  from PURGE_TOKEN_FILE, too; never for a log or a message
 * @property {string} [PURGE_TOKEN_FILE]
 * @property {number} PURGE_REPEAT_AFTER_S  the longest that an answer may be on its way to the CDN
 * @property {number} [METRICS_PORT]
 * @property {string} METRICS_HOST
 */

export { ConfigError }

/** @type {Set<Setting>} */
const SECRET = new Set(['MONGODB_URI', 'PURGE_TOKEN', 'PURGE_URL'])
const HIDDEN = '(not shown, it may hold a password)'

/**
 * The only reader of the environment.
 * @param {Record<string, string | undefined>} [env]
 * @returns {Config}
 * @throws {ConfigError} naming each bad variable, its value and what is allowed
 */
export function readConfig (env = process.env) {
  const config = customCleanEnv(env, SETTINGS, (values) => /** @type {Config} */ (Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))), {
    reporter ({ errors }) {
      const names = /** @type {Setting[]} */ (Object.keys(errors))
      if (names.length > 0) throw new ConfigError(names.map((name) => complaint(name, SECRET.has(name) ? HIDDEN : JSON.stringify(env[name]))).join('; '))
    }
  })
  if ((config.ACCESS === 'users') !== (config.USERS_FILE !== undefined)) throw new ConfigError(`ACCESS=${config.ACCESS} is not allowed ${config.USERS_FILE ? 'with' : 'without'} USERS_FILE: ${SETTINGS.USERS_FILE.desc}`)
  if (needsPurges(config.CACHE_POLICY) && config.PURGE_ZONE === undefined) {
    throw new ConfigError(`CACHE_POLICY=${config.CACHE_POLICY} is not allowed without PURGE_ZONE, PUBLIC_URL and PURGE_TOKEN or PURGE_TOKEN_FILE: the CDN would keep old pages for ${config.CACHE_CDN_TTL_S} s, as nobody tells it of edits`)
  }
  return config.PURGE_ZONE === undefined ? config : withPurgeToken(config)
}

/**
 * @param {Config} config
 * @returns {Config}
 * @throws {ConfigError}
 */
function withPurgeToken (config) {
  const { PURGE_TOKEN: token, PURGE_TOKEN_FILE: file } = config
  if (config.PUBLIC_URL === undefined) throw new ConfigError(`PURGE_ZONE is not allowed without PUBLIC_URL, under which caches know the pages: it must be ${SETTINGS.PUBLIC_URL.desc}`)
  try {
    return { ...config, PURGE_TOKEN: readToken({ token, file, variable: 'PURGE_TOKEN', fileVariable: 'PURGE_TOKEN_FILE' }) }
  } catch (error) {
    throw new ConfigError(/** @type {Error} */ (error).message)
  }
}

/**
 * @param {Setting} name
 * @param {string} value  as it may be shown
 */
const complaint = (name, value) => `${name}=${value} is not allowed: it must be ${SETTINGS[name].desc}`

/**
 * The driver is the one who knows its URIs and options; its constructor reads them without connecting.
 * @param {string} uri
 */
function isMongodbUri (uri) {
  try {
    return Boolean(new mongoose.mongo.MongoClient(uri))
  } catch {
    return false
  }
}

/** @param {string} text */
function isApiUrl (text) {
  try {
    return Boolean(parseApiUrl(text))
  } catch {
    return false
  }
}

/** @param {string} text */
function isOrigin (text) {
  if (!URL.canParse(text)) return false
  const { protocol, origin } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && text.replace(/\/$/, '').toLowerCase() === origin
}

/** @param {string} text */
function isThere (text) {
  return text !== ''
}

/**
 * @param {(text: string) => boolean} allows
 * @param {Told<string>} told
 */
function text (allows, told) {
  return makeExactValidator((given) => allows(given) ? given : refuse())(/** @type {any} */ (told))
}

/**
 * @param {number} least
 * @param {number} most
 * @param {Told<number>} told
 */
function integer (least, most, told) {
  return makeExactValidator((given) => /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most ? Number(given) : refuse())(/** @type {any} */ (told))
}

/**
 * @template T
 * @typedef {{default: T | undefined, desc: string}} Told
 */

/** @returns {never} nobody reads it: what is allowed is said by readConfig */
function refuse () {
  throw new Error('not allowed')
}
