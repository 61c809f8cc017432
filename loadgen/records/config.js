import { FRAMEWORKS } from './frameworks/names.js'
import { STRATEGIES } from './strategies/names.js'

/** @typedef {ReturnType<typeof readConfig>} Config */

/** A setting has a bad value; the message says which setting and what is allowed. */
export class ConfigError extends Error {}

/**
 * Reads the settings of the record service and of the inserts without it; no other code of this folder does.
 * @param {NodeJS.ProcessEnv} [env]
 * @throws {ConfigError}
 */
export function readConfig (env = process.env) {
  const { RECORDS_MONGODB_URI: mongodbUri, RECORDS_COLLECTION: collection = 'records' } = env
  if (!mongodbUri) throw new ConfigError('RECORDS_MONGODB_URI must be the URI of a database')
  const number = (/** @type {string} */ name, /** @type {number} */ otherwise, least = 1) =>
    wholeNumber(name, env[name], { otherwise, least })
  return {
    mongodbUri,
    collection,
    port: number('RECORDS_PORT', 0, 0),
    framework: choice('RECORDS_FRAMEWORK', env.RECORDS_FRAMEWORK ?? 'fastify', FRAMEWORKS),
    strategy: choice('RECORDS_STRATEGY', env.RECORDS_STRATEGY ?? 'sync', STRATEGIES),
    /** A batch is inserted once it has this many records … */
    gatherMax: number('RECORDS_GATHER_MAX', 1000),
    /** … or this many ms after its first one. */
    gatherMs: number('RECORDS_GATHER_MS', 1000, 0),
    /** Records that are accepted and not yet in the database; above, the answer is 503. */
    backlogMax: number('RECORDS_BACKLOG_MAX', 100_000),
    backlogMaxBytes: number('RECORDS_BACKLOG_MAX_BYTES', 64 * 1024 * 1024),
    /** Of the inserts without HTTP. */
    count: number('RECORDS_COUNT', 1000),
    mark: env.RECORDS_MARK ?? 'raw',
    sizeChars: number('RECORDS_SIZE_CHARS', 100, 0),
    samplesFile: env.RECORDS_SAMPLES_FILE
  }
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {{otherwise: number, least: number}} bounds
 */
function wholeNumber (name, text, { otherwise, least }) {
  if (text === undefined || text === '') return otherwise
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
    throw new ConfigError(`${name} must be a whole number from ${least} on, not "${text}"`)
  }
  return value
}

/**
 * @template {string} T
 * @param {string} name
 * @param {string} value
 * @param {readonly T[]} allowed
 * @returns {T}
 */
function choice (name, value, allowed) {
  const found = allowed.find((each) => each === value)
  if (found === undefined) throw new ConfigError(`${name} must be one of ${allowed.join(', ')}, not "${value}"`)
  return found
}
