import envSchema from 'env-schema'
import mongoose from 'mongoose'
import { CACHE_POLICY_NAMES } from './cache-policy.js'

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
    PAGE_MAX_BYTES: { type: 'integer', minimum: 1, maximum: 3 * MIB, default: MIB, description: 'a whole number of bytes from 1 to 3145728' },
    UPLOAD_MAX_BYTES: { type: 'integer', minimum: 1, maximum: 50 * MIB, default: 5 * MIB, description: 'a whole number of bytes from 1 to 52428800' },
    LOG_LEVEL: {
      type: 'string',
      enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      default: 'warn',
      description: 'one of fatal, error, warn, info, debug, trace, silent'
    }
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
 * @property {number} PAGE_MAX_BYTES
 * @property {number} UPLOAD_MAX_BYTES  of one picture
 * @property {string} LOG_LEVEL
 */

/** A setting that is not allowed; the message is one line for the person who set it. */
export class ConfigError extends Error {}

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
    throw new ConfigError([...names].map((name) => complaint(name, JSON.stringify(env[name]))).join('; '))
  }
  if (!isMongodbUri(config.MONGODB_URI)) throw new ConfigError(complaint('MONGODB_URI', '(not shown, it may hold a password)'))
  return config
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
