import { parsePort, DEFAULT_PORTS, readConfig } from '../config.js'
import { UsageError } from '../usage-error.js'

/** One flag for each port that users see. @type {Record<string, {type: 'string'}>} */
export const PORT_OPTIONS = Object.fromEntries(
  Object.keys(DEFAULT_PORTS).map((name) => [`${name}-port`, { type: 'string' }])
)

export const PORT_HELP = Object.entries(DEFAULT_PORTS)
  .map(([name, port]) => `  --${`${name}-port N`.padEnd(18)} default ${port}; also ${name.toUpperCase()}_PORT`)
  .join('\n')

const HELP_COLUMNS = 100

/**
 * @param {string[]} names
 * @returns {string} indented lines of a help text, with commas between the names
 */
export function nameLines (names) {
  const lines = ['']
  for (const [index, name] of names.entries()) {
    const text = index === names.length - 1 ? name : `${name},`
    if (`  ${lines[lines.length - 1]} ${text}`.length > HELP_COLUMNS) lines.push('')
    lines[lines.length - 1] = `${lines[lines.length - 1]} ${text}`.trim()
  }
  return lines.map((line) => `  ${line}`).join('\n')
}

/**
 * Returns the environment's configuration; ports of the command line override its ports.
 * @param {Record<string, any>} values
 */
export function configWith (values) {
  const config = readConfig()
  for (const name of /** @type {import('../config.js').PortName[]} */ (Object.keys(DEFAULT_PORTS))) {
    const value = values[`${name}-port`]
    if (value !== undefined) config.ports[name] = parsePort(value, `--${name}-port`)
  }
  return config
}

/**
 * @param {string | undefined} text
 * @param {string} flag
 * @param {{least: number, most: number}} range
 * @returns {number | undefined}
 * @throws {UsageError}
 */
export function integerOption (text, flag, { least, most }) {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most) {
    throw new UsageError(`${flag} must be a whole number from ${least} to ${most}, not "${text}"`)
  }
  return value
}

/**
 * @param {string | undefined} text
 * @param {string} flag
 * @param {{least: number, most: number}} range
 * @returns {number | undefined}
 * @throws {UsageError}
 */
export function numberOption (text, flag, { least, most }) {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !(value >= least && value <= most)) {
    throw new UsageError(`${flag} must be a number from ${least} to ${most}, not "${text}"`)
  }
  return value
}

/**
 * @param {string} text
 * @param {string} flag
 * @param {string} example
 * @returns {URL} without a path
 * @throws {UsageError}
 */
export function siteOption (text, flag, example) {
  const url = URL.canParse(text) ? new URL(text) : null
  const isSite = url !== null && ['http:', 'https:'].includes(url.protocol) && url.pathname === '/' &&
    url.search === '' && url.hash === '' && url.username === ''
  if (!isSite) throw new UsageError(`${flag} is an http or https URL without a path, such as ${example}, not "${text}"`)
  return url
}

/**
 * @param {string[]} positionals
 * @param {number} most
 * @throws {UsageError}
 */
export function refuseMore (positionals, most) {
  if (positionals.length > most) throw new UsageError(`unexpected argument "${positionals[most]}"`)
}

/**
 * Returns a signal that aborts on SIGINT (Ctrl-C), SIGTERM or SIGHUP. The command then cleans up in order; a second
 * signal ends it at once.
 * @returns {AbortSignal}
 */
export function interruptSignal () {
  const controller = new AbortController()
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(name, () => {
      process.stderr.write('\nstopping …\n')
      controller.abort()
    })
  }
  return controller.signal
}
