import { TOOLS } from '@stevec/harness/tools/catalog'
import { locateTool, remedyFor } from '@stevec/harness/tools/locate'
import { DefinitionError } from './definition.js'
import { levelsOf, levelText } from './levels.js'

/** @typedef {import('./definition.js').Definition} Definition */
/** @typedef {import('./definition.js').Settings} Settings */

/** @param {Partial<Settings>} settings @returns {string[]} programs that not every machine has */
const toolsFor = ({ cache, shared }) => [
  ...cache === undefined ? [] : [cache],
  ...shared === undefined || shared === 'none' ? [] : ['redis']
]

/**
 * Leaves out the levels whose program is not on this machine: of a cache, or Redis.
 * @param {Definition} definition
 * @param {(name: string) => boolean} [isThere]
 * @returns {Definition} with `left_out`, if any level is missing
 * @throws {DefinitionError} when no level of a factor remains, or all cells need what is missing
 */
export function leaveOutMissing (
  definition,
  isThere = (name) => TOOLS[name] === undefined || locateTool(name) !== null
) {
  const missingFor = (/** @type {Partial<Settings>} */ settings) => toolsFor(settings).find((name) => !isThere(name))
  /** @type {{level: string, reason: string}[]} */
  const leftOut = []
  const factors = { ...definition.factors }
  for (const [name, factor] of Object.entries(definition.factors)) {
    const missing = levelsOf(name, factor).flatMap(({ level, gives }) => {
      const tool = missingFor(gives)
      return tool === undefined ? [] : [{ level, reason: `${tool} is not on this machine; ${remedyFor(tool)}` }]
    })
    if (missing.length === 0) continue
    const gone = missing.map(({ level }) => level)
    factors[name] = Array.isArray(factor)
      ? factor.filter((level) => !gone.includes(level))
      : Object.fromEntries(Object.entries(factor).filter(([level]) => !gone.includes(level)))
    if (levelsOf(name, factors[name]).length === 0) {
      throw new DefinitionError(missing.map(({ reason }) => reason).join('; '))
    }
    leftOut.push(...missing.map(({ level, reason }) => ({ level: levelText(level), reason })))
  }
  const { shared } = definition.settings
  const always = definition.factors.shared === undefined ? missingFor({ shared }) : undefined
  if (always !== undefined) throw new DefinitionError(`${always} is not on this machine; ${remedyFor(always)}`)
  return leftOut.length === 0 ? definition : { ...definition, factors, left_out: leftOut }
}
