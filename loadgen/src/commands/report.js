import { UsageError } from '../usage-error.js'
import { writeReport } from '../lab/report.js'
import { findRun } from '../lab/results.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'tables, figures and one HTML file from a run',
  help: `Usage: stevec report <run|latest>

Reads results/<run>/ and writes results/<run>/report/; anything there before is replaced.

Examples:
  stevec report latest
  stevec report results/sample`,
  options: {},
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    if (positionals.length === 0) throw new UsageError('name a run: a folder of results/, or latest')
    await writeReport(findRun(configWith(values).resultsDirectory, positionals[0]))
    return 0
  }
}
