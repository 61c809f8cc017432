import { analysisHelp, runAnalysis } from '../lab/python.js'
import { findRun } from '../lab/results.js'
import { UsageError } from '../usage-error.js'
import { configWith, refuseMore } from './options.js'

const MODULE = 'stevec_compare'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'which differences between two runs are real',
  get help () { return analysisHelp(MODULE) },
  options: {
    gate: { type: 'string' },
    svg: { type: 'string' },
    force: { type: 'boolean' },
    json: { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 2)
    if (positionals.length < 2) throw new UsageError('which two runs? Name folders of results/, or latest')
    const { resultsDirectory } = configWith({})
    const runs = positionals.map((name) => findRun(resultsDirectory, name))
    const flags = Object.entries(values).map(([name, value]) => value === true ? `--${name}` : `--${name}=${value}`)
    return runAnalysis(MODULE, [...flags, '--', ...runs])
  }
}
