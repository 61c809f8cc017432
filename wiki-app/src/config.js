import envSchema from 'env-schema'
import mongoose from 'mongoose'
import { parseApiUrl, readToken } from '@stevec/cdn/wiki'
import { ACCESS_MODES } from './access/roles.js'
import { trustOf } from './access/client.js'
import { CACHE_POLICY_NAMES, needsPurges } from './cache-policy.js'
import { ConfigError } from './config-error.js'

const MIB = 1_048_576

/**
 * Every setting, with its default and, in words, what is allowed.
 * A page's Markdown and its HTML share one MongoDB document of at most 16 MiB, hence the upper limit of PAGE_MAX_BYTES.
 */
const SCHEMA = {
  type: 'object',
  properties: {
    HOST: { type: 'string', minLength: 1, default: '127.0.0.1', description: 'an address or host name to listen on' },
    PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3000, description: 'a whole number from 0 (any free port) to 65535' },
    MONGODB_URI: {
      type: 'string',
      default: 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec',
      description: 'mongodb://[user:password@]host[:port][,…]/database[?options]'
    },
    CACHE_POLICY: { type: 'string', enum: CACHE_POLICY_NAMES, default: 'ttl', description: `one of ${CACHE_POLICY_NAMES.join(', ')}` },
    CACHE_TTL_S: { type: 'integer', minimum: 0, maximum: 31_536_000, default: 180, description: 'a whole number of seconds from 0 to 31536000 (a year)' },
    CACHE_STALE_WHILE_REVALIDATE_S: { type: 'integer', minimum: 0, maximum: 31_536_000, default: 60, description: 'a whole number of seconds from 0 to 31536000 (a year)' },
    CACHE_STALE_IF_ERROR_S: { type: 'integer', minimum: 0, maximum: 31_536_000, default: 0, description: 'a whole number of seconds from 0 to 31536000 (a year)' },
    // As many as the driver brings in one answer, so that no read needs a second.
    PAGE_READS_AT_ONCE: { type: 'integer', minimum: 1, maximum: 100, default: 100, description: 'a whole number from 1 (a read of the database for each page view) to 100' },
    ORIGIN_CACHE_MIB: { type: 'integer', minimum: 0, maximum: 16_384, default: 0, description: 'a whole number of MiB from 0 (off) to 16384' },
    // A lost purge is not mended before it ends.
    CACHE_CDN_TTL_S: { type: 'integer', minimum: 1, maximum: 31_536_000, default: 86_400, description: 'a whole number of seconds from 1 to 31536000 (a year)' },
    PAGE_MAX_BYTES: { type: 'integer', minimum: 1, maximum: 3 * MIB, default: MIB, description: 'a whole number of bytes from 1 to 3145728' },
    UPLOAD_MAX_BYTES: { type: 'integer', minimum: 1, maximum: 50 * MIB, default: 5 * MIB, description: 'a whole number of bytes from 1 to 52428800' },
    LOG_LEVEL: {
      type: 'string',
      enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      default: 'warn',
      description: 'one of fatal, error, warn, info, debug, trace, silent'
    },
    ACCESS: { type: 'string', enum: ACCESS_MODES, default: 'open', description: `one of ${ACCESS_MODES.join(', ')}` },
    USERS_FILE: { type: 'string', minLength: 1, description: 'the path of a file that wiki-app/bin/user.js has made; ACCESS=users needs it, and nothing else does' },
    // Whether cookies are only for https cannot be told from a request, as whoever ends TLS may stand in front.
    PUBLIC_URL: { type: 'string', description: 'the address of the wiki as visitors see it, without a path: https://wiki.example' },
    // A person saves a few times a minute; this is for what does not get tired.
    WRITES_PER_MINUTE: { type: 'integer', minimum: 0, maximum: 100_000, default: 60, description: 'a whole number from 0 (no limit) to 100000' },
    // Only nginx on the same machine is believed when it says for whom it asks: anybody can send that header.
    TRUSTED_PROXIES: { type: 'string', default: 'loopback', description: 'loopback, linklocal, uniquelocal, addresses or CIDR blocks with commas between, or none' },
    // Caches are told of edits when their zone is named.
    PURGE_ZONE: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'the id of the zone of the CDN in front, letters, digits, - and _, or not set for no purges' },
    PURGE_URL: { type: 'string', description: 'the address of a purge API in the form of Cloudflare\'s, https, or http on this machine; not set: Cloudflare\'s own' },
    PURGE_TOKEN: { type: 'string', minLength: 1, description: 'the token for it' },
    PURGE_TOKEN_FILE: { type: 'string', minLength: 1, description: 'the path of a file with the token for it, which its owner alone may read' },
    PURGE_REPEAT_AFTER_S: { type: 'integer', minimum: 1, maximum: 3600, default: 10, description: 'a whole number of seconds from 1 to 3600' },
    METRICS_PORT: { type: 'integer', minimum: 1, maximum: 65_535, description: 'a whole number from 1 to 65535, or not set for no metrics' },
    // Metrics tell of the inside, so nobody else sees them unless asked for.
    METRICS_HOST: { type: 'string', minLength: 1, default: '127.0.0.1', description: 'an address or host name for the metrics to listen on' }
  }
}

/** @typedef {keyof typeof SCHEMA.properties} Setting */

/**
 * @typedef {object} Config
 * @property {string} HOST
 * @property {number} PORT
 * @property {string} MONGODB_URI  may hold a password: never for a log or a message
 * @property {import('./cache-policy.js').CachePolicyName} CACHE_POLICY
 * @property {number} CACHE_TTL_S
 * @property {number} CACHE_STALE_WHILE_REVALIDATE_S  of the policy ttl-swr
 * @property {number} CACHE_STALE_IF_ERROR_S
 * @property {number} PAGE_READS_AT_ONCE  how many pages one read of the database brings at most
 * @property {number} ORIGIN_CACHE_MIB  of memory for pages that are ready to be sent
 * @property {number} CACHE_CDN_TTL_S  of the policies purge-url and purge-tag
 * @property {number} PAGE_MAX_BYTES
 * @property {number} UPLOAD_MAX_BYTES  of one picture
 * @property {string} LOG_LEVEL
 * @property {import('./access/roles.js').AccessMode} ACCESS
 * @property {string} [USERS_FILE]  there when ACCESS is users
 * @property {string} [PUBLIC_URL]
 * @property {number} WRITES_PER_MINUTE  of one client; 0: no limit
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

const SECRET = new Set(['MONGODB_URI', 'PURGE_TOKEN'])
const HIDDEN = '(not shown, it may hold a password)'

/**
 * The only reader of the environment.
 * @param {Record<string, string | undefined>} [env]
 * @returns {Config}
 * @throws {ConfigError} naming each bad variable, its value and what is allowed
 */
export function readConfig (env = process.env) {
  const given = Object.fromEntries(Object.keys(SCHEMA.properties).filter((name) => env[name] !== undefined).map((name) => [name, env[name]]))
  let config
  try {
    config = /** @type {Config} */ (envSchema({ schema: SCHEMA, data: given, env: false }))
  } catch (error) {
    const { errors } = /** @type {{errors: {instancePath: string}[]}} */ (error)
    const names = new Set(errors.map(({ instancePath }) => /** @type {Setting} */ (instancePath.slice(1))))
    throw new ConfigError([...names].map((name) => complaint(name, SECRET.has(name) ? HIDDEN : JSON.stringify(env[name]))).join('; '))
  }
  if (!isMongodbUri(config.MONGODB_URI)) throw new ConfigError(complaint('MONGODB_URI', HIDDEN))
  if (config.PUBLIC_URL !== undefined && !isOrigin(config.PUBLIC_URL)) throw new ConfigError(complaint('PUBLIC_URL', JSON.stringify(config.PUBLIC_URL)))
  if (trustOf(config.TRUSTED_PROXIES) === null) throw new ConfigError(complaint('TRUSTED_PROXIES', JSON.stringify(config.TRUSTED_PROXIES)))
  if ((config.ACCESS === 'users') !== (config.USERS_FILE !== undefined)) throw new ConfigError(`ACCESS=${config.ACCESS} is not allowed ${config.USERS_FILE ? 'with' : 'without'} USERS_FILE: ${SCHEMA.properties.USERS_FILE.description}`)
  if (config.PURGE_URL !== undefined && !isApiUrl(config.PURGE_URL)) throw new ConfigError(complaint('PURGE_URL', HIDDEN))
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
  if (config.PUBLIC_URL === undefined) throw new ConfigError(`PURGE_ZONE is not allowed without PUBLIC_URL, under which caches know the pages: it must be ${SCHEMA.properties.PUBLIC_URL.description}`)
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
const complaint = (name, value) => `${name}=${value} is not allowed: it must be ${SCHEMA.properties[name].description}`

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
