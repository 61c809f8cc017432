import { isDeepStrictEqual } from 'node:util'
import { cellsOf, DefinitionError } from '../lab/definition.js'
import { DEFAULT_SETTINGS } from '../lab/settings.js'
import { wikiSettingsFor } from '../lab/wiki-settings.js'

/** @typedef {import('../lab/definition.js').Definition} Definition */
/** @typedef {import('../lab/definition.js').Settings} Settings */

/**
 * Settings that a run through the user's Cloudflare zone may vary: k6 implements them, or the user starts the wiki with
 * them. `inability` refuses some of their values. Any other setting must have its default value.
 */
const ABLE = new Set([
  'door', 'pages', 'page_size_chars', 'popularity', 'requests', 'edit_ratio', 'edit_popularity', 'edit',
  'edit_size_chars', 'model', 'vus', 'pause_s', 'rate_per_s', 'connection_reuse', 'ttl_s', 'policy',
  'stale_while_revalidate_s', 'stale_if_error_s', 'duration_max_s', 'bound', 'background_vus', 'timeout_s'
])
/**
 * Under the other policies the CDN fetches pages, or the wiki purges them, on its own. Only a log of the edge separates
 * such requests from those of the run.
 */
const POLICIES = ['ttl', 'revalidate', 'no-store']

/**
 * @param {string} name  of a setting
 * @param {unknown} value
 * @returns {string | undefined} why a zone does not support the value
 */
function inability (name, value) {
  if (name === 'door' && value === 'local') {
    return 'the door local stands on the client\'s machine and is none of a zone\'s'
  }
  if (name === 'policy' && !POLICIES.includes(String(value))) {
    return `under the policy ${value}, the cache or the wiki sends requests of its own, which only the edge's log could tell from the run's`
  }
  if (
    !ABLE.has(name) && !isDeepStrictEqual(value, /** @type {Record<string, unknown>} */ (DEFAULT_SETTINGS)[name])
  ) return `${name} needs a stack of the lab's own`
}

/** @param {object} settings */
const firstInability = (settings) => Object.entries(settings)
  .map(([name, value]) => inability(name, value))
  .find((reason) => reason !== undefined)

/**
 * Returns the experiment without the levels that a zone does not support.
 * @param {Definition} definition
 * @returns {Definition}  with `left_out`, if levels were removed
 * @throws {DefinitionError} when no cell is left, or a remaining one is not supported either
 */
export function fitToZone (definition) {
  /** @type {{level: string, reason: string}[]} */
  const leftOut = []
  const keeps = (/** @type {string} */ name, /** @type {unknown} */ level, /** @type {object} */ gives) => {
    const reason = firstInability(gives)
    if (reason !== undefined) leftOut.push({ level: `${name}=${level}`, reason })
    return reason === undefined
  }
  const factors = Object.fromEntries(Object.entries(definition.factors).map(([name, factor]) => [
    name,
    Array.isArray(factor)
      ? factor.filter((level) => keeps(name, level, { [name]: level }))
      : Object.fromEntries(Object.entries(factor).filter(([level, gives]) => keeps(name, level, gives)))
  ]))
  const fitted = leftOut.length === 0 ? definition : { ...definition, factors, left_out: leftOut }
  const cells = cellsOf(fitted)
  const reason = cells.length === 0
    ? leftOut[0]?.reason
    : cells.map(({ settings }) => firstInability(settings)).find((found) => found !== undefined)
  if (reason !== undefined) {
    throw new DefinitionError(`${definition.name} cannot be run through a zone: ${reason}. Run it without --target`)
  }
  return fitted
}

/**
 * Checks that all experiments need the same caching settings of the wiki. The lab restarts its own stack if trials
 * differ in that, but never the wiki behind a zone, which belongs to the user.
 * @param {Definition[]} definitions
 * @returns {Settings} of any of the trials
 * @throws {DefinitionError} when they differ
 */
export function oneCaching (definitions) {
  const cells = definitions.flatMap(
    (definition) => cellsOf(definition).map(({ cell, settings }) => ({ name: definition.name, cell, settings }))
  )
  const [first] = cells
  const asFirst = wikiSettingsFor(first.settings)
  const other = cells.find(({ settings }) => !isDeepStrictEqual(wikiSettingsFor(settings), asFirst))
  if (other === undefined) return first.settings
  const [one, two] = [first, other].map(
    ({ name, cell }) => `${name} (${Object.entries(cell).map((entry) => entry.join('=')).join(' ')})`
  )
  throw new DefinitionError(`${one} needs a wiki with ${difference(first.settings, other.settings)}, ${two} one with ${difference(other.settings, first.settings)}, and a run never restarts the wiki behind a zone: run them separately with --only, and restart the wiki in between`)
}

/**
 * @param {Settings} settings
 * @param {Settings} than
 */
function difference (settings, than) {
  const other = /** @type {Record<string, string>} */ (wikiSettingsFor(than))
  return Object.entries(wikiSettingsFor(settings))
    .filter(([name, value]) => other[name] !== value)
    .map((entry) => entry.join('='))
    .join(' ')
}
