import { analysisHelp, runAnalysis } from '../lab/python.js'
import { findRun } from '../lab/results.js'
import { UsageError } from '../usage-error.js'
import { configWith } from './options.js'

const MODULE = 'stevec_compare'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'what differs between the runs of two versions, or between two runs',
  get help () { return analysisHelp(MODULE) },
  options: {
    gate: { type: 'string' },
    svg: { type: 'string' },
    spread: { type: 'string', multiple: true },
    force: { type: 'boolean' },
    json: { type: 'boolean' }
  },
  async run ({ values, positionals, beforeDashes }) {
    const [first, second] = sidesOf(positionals, beforeDashes)
    const { resultsDirectory } = configWith({})
    const found = (/** @type {string[]} */ names) => names.map((name) => findRun(resultsDirectory, name))
    const flags = Object.entries(values).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : [value].flat().map((each) => `--${name}=${each}`))
    return runAnalysis(MODULE, [...flags, ...found(first), '--', ...found(second)])
  }
}

/**
 * @param {string[]} names
 * @param {number} before  how many are before `--`
 * @returns {[string[], string[]]}
 * @throws {UsageError}
 */
function sidesOf (names, before) {
  if (before === 2 && names.length === 2) return [[names[0]], [names[1]]]
  if (before === 0 || before === names.length) {
    throw new UsageError('which runs? A and B, or A1 A2 … -- B1 B2 …: folders of results/, or latest')
  }
  return [names.slice(0, before), names.slice(before)]
}
