import { analysisHelp, runAnalysis } from '../lab/python.js'
import { EXIT } from '../exit-codes.js'

const MODULE = 'stevec_advise'
const VALUES = ['stale', 'max-age', 'purge-delay', 'least', 'host', 'trace-type', 'trace-params', 'cache']
const LISTS = ['edits', 'class']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'how long a cache may keep each part of a site, from its access log',
  get help () { return analysisHelp(MODULE) },
  options: {
    ...Object.fromEntries(VALUES.map((name) => [name, { type: /** @type {const} */ ('string') }])),
    ...Object.fromEntries(LISTS.map((name) => [name, { type: /** @type {const} */ ('string'), multiple: true }])),
    json: { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    const flags = Object.entries(values).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : [value].flat().map((one) => `--${name}=${one}`))
    const exitCode = await runAnalysis(MODULE, [...flags, '--', ...positionals])
    // Python's own after an exception.
    return exitCode === EXIT.violated ? EXIT.broken : exitCode
  }
}
