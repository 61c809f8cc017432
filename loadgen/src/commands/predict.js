import { analysisHelp, runAnalysis } from '../lab/python.js'
import { EXIT } from '../exit-codes.js'
import { refuseMore } from './options.js'

const MODULE = 'stevec_predict'
const VALUES = [
  'pages', 'rate', 'zipf', 'edits', 'edits-zipf', 'policy', 'ttl', 'swr', 'purge-delay', 'tag-pages', 'pops',
  'pops-zipf', 'pop-shares', 'fetch-ms', 'flash', 'duration', 'requests', 'seed', 'prices', 'page-bytes',
  'origin-per-s',
  'trace', 'trace-type', 'trace-params', 'host'
]
const SWITCHES = ['tiered', 'no-collapse', 'json']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'hit ratio, stale reads and cost of a cache, without running anything',
  get help () { return analysisHelp(MODULE) },
  options: {
    ...Object.fromEntries(VALUES.map((name) => [name, { type: /** @type {const} */ ('string') }])),
    ...Object.fromEntries(SWITCHES.map((name) => [name, { type: /** @type {const} */ ('boolean') }]))
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const flags = Object.entries(values).map(([name, value]) => value === true ? `--${name}` : `--${name}=${value}`)
    const exitCode = await runAnalysis(MODULE, flags)
    // Python's own after an exception.
    return exitCode === EXIT.violated ? EXIT.broken : exitCode
  }
}
