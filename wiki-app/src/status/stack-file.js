import { readFile, stat } from 'node:fs/promises'

/**
 * What the process that watches the stack writes to STATUS_FILE (docs/operations.md).
 * @typedef {'running' | 'restarting' | 'given-up'} StackState
 * @typedef {object} StackService
 * @property {string} name
 * @property {StackState} state
 * @property {string} since  ISO 8601
 * @property {number} restarts
 * @property {string | null} last_restart_at
 * @typedef {{written_at: string, services: StackService[]}} Stack
 */

const STATES = new Set(['running', 'restarting', 'given-up'])
const NAME = /^[\w .-]{1,60}$/
const SERVICES_MAX = 100
const BYTES_MAX = 65_536
/** A disk that hangs delays no response for longer. */
const READ_MAX_MS = 100
/** Many readers at once cost one read. */
const FRESH_MS = 500

/**
 * @param {string} file
 * @returns {() => Promise<Stack | null>} null: the file cannot be read, or is not as it should be
 */
export function createStackReader (file) {
  /** @type {Promise<Stack | null> | undefined} */
  let reading
  let endsAtMs = 0

  async function read () {
    try {
      if ((await stat(file)).size > BYTES_MAX) return null
      return parseStack(await readFile(file, 'utf8'))
    } catch {
      return null
    }
  }

  return () => {
    // One that hangs is waited for again, not started again.
    if (reading === undefined || performance.now() >= endsAtMs) {
      endsAtMs = Infinity
      reading = read().finally(() => { endsAtMs = performance.now() + FRESH_MS })
    }
    return within(reading)
  }
}

/** @param {Promise<Stack | null>} reading @returns {Promise<Stack | null>} */
function within (reading) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, READ_MAX_MS, null) })
  return Promise.race([reading, /** @type {Promise<null>} */ (late)]).finally(() => clearTimeout(timer))
}

/**
 * Only what is known passes: the page is public, and another program wrote the file.
 * @param {string} text
 * @returns {Stack | null}
 */
export function parseStack (text) {
  const { schema_version: version, written_at: writtenAt, services } = parsed(text)
  if (version !== 1 || !isTime(writtenAt) || !Array.isArray(services) || services.length > SERVICES_MAX) return null
  const checked = services.map(serviceOf)
  return checked.includes(null)
    ? null
    : { written_at: writtenAt, services: /** @type {StackService[]} */ (checked) }
}

/** @param {string} text @returns {Record<string, any>} */
function parsed (text) {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** @param {any} given @returns {StackService | null} */
function serviceOf (given) {
  const { name, state, since, restarts, last_restart_at: restartedAt = null } = Object(given)
  const isRight = typeof name === 'string' && NAME.test(name) && STATES.has(state) && isTime(since) &&
    Number.isSafeInteger(restarts) && restarts >= 0 && (restartedAt === null || isTime(restartedAt))
  return isRight ? { name, state, since, restarts, last_restart_at: restartedAt } : null
}

/** @param {unknown} given */
const isTime = (given) => typeof given === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(given) &&
  !Number.isNaN(Date.parse(given))
