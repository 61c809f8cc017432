import { isDeepStrictEqual } from 'node:util'
import { cellsOf, DefinitionError } from '../lab/definition.js'
import { cachingFor } from '../lab/site.js'

/** @typedef {import('../lab/definition.js').Definition} Definition */
/** @typedef {import('../lab/definition.js').Settings} Settings */

/** Stands on the client's machine, in a stack of one's own. */
const MISSING_DOOR = 'local'

/**
 * The experiment as the doors of a zone can do it: without the door `local`.
 * @param {Definition} definition
 * @returns {Definition}  with `left_out`, where something was
 * @throws {DefinitionError} when nothing is left
 */
export function fitToZone (definition) {
  /** @type {string[]} */
  const leftOut = []
  const keeps = (/** @type {string} */ name, /** @type {unknown} */ level, /** @type {unknown} */ door) => {
    if (door === MISSING_DOOR) leftOut.push(`${name}=${level}`)
    return door !== MISSING_DOOR
  }
  const factors = Object.fromEntries(Object.entries(definition.factors).map(([name, factor]) => [name, Array.isArray(factor)
    ? factor.filter((level) => keeps(name, level, name === 'door' ? level : undefined))
    : Object.fromEntries(Object.entries(factor).filter(([level, gives]) => keeps(name, level, gives.door)))
  ]))
  const fitted = leftOut.length === 0 ? definition : { ...definition, factors, left_out: leftOut }
  const cells = cellsOf(fitted)
  if (cells.length === 0 || cells.some(({ settings }) => settings.door === MISSING_DOOR)) throw new DefinitionError(`${definition.name} measures the door ${MISSING_DOOR}, which stands on the client's machine and is none of a zone's: run it without --target`)
  return fitted
}

/**
 * How the wiki must be told to be cached for all these experiments. A stack of the lab's own is started anew where trials differ in that; the wiki behind
 * a zone is somebody's, and is not.
 * @param {Definition[]} definitions
 * @returns {Settings} of any of the trials
 * @throws {DefinitionError} when they differ
 */
export function oneCaching (definitions) {
  const cells = definitions.flatMap((definition) => cellsOf(definition).map(({ cell, settings }) => ({ name: definition.name, cell, settings })))
  const [first] = cells
  const other = cells.find(({ settings }) => !isDeepStrictEqual(cachingFor(settings), cachingFor(first.settings)))
  if (other === undefined) return first.settings
  const [one, two] = [first, other].map(({ name, cell }) => `${name} (${Object.entries(cell).map((entry) => entry.join('=')).join(' ')})`)
  throw new DefinitionError(`${one} wants a wiki with ${difference(first.settings, other.settings)}, ${two} one with ${difference(other.settings, first.settings)}, and a run never restarts the wiki behind a zone: run them apart with --only, and restart the wiki in between`)
}

/**
 * @param {Settings} settings
 * @param {Settings} than
 */
function difference (settings, than) {
  const other = /** @type {Record<string, string>} */ (cachingFor(than))
  return Object.entries(cachingFor(settings)).filter(([name, value]) => other[name] !== value).map((entry) => entry.join('=')).join(' ')
}
