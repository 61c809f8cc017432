import { TOOLS } from '@stevec/harness/tools/catalog'
import { locateTool, remedyFor } from '@stevec/harness/tools/locate'
import { DefinitionError } from './definition.js'

/**
 * Leaves out the levels of the factor `cache` whose program is not on this machine.
 * @param {import('./definition.js').Definition} definition
 * @param {(name: string) => boolean} [isThere]
 * @returns {import('./definition.js').Definition} with `left_out`, if any level is missing
 * @throws {DefinitionError} when no level remains
 */
export function leaveOutMissing (
  definition,
  isThere = (name) => TOOLS[name] === undefined || locateTool(name) !== null
) {
  const levels = definition.factors.cache
  if (!Array.isArray(levels)) return definition
  const missing = /** @type {string[]} */ (levels).filter((name) => !isThere(name))
  if (missing.length === 0) return definition
  const leftOut = missing.map((level) => ({ level, reason: `${level} is not on this machine; ${remedyFor(level)}` }))
  if (missing.length === levels.length) throw new DefinitionError(leftOut.map(({ reason }) => reason).join('; '))
  return {
    ...definition,
    factors: {
      ...definition.factors,
      cache: levels.filter((name) => !missing.includes(/** @type {string} */ (name)))
    },
    left_out: leftOut
  }
}
