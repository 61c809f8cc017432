import { UsageError } from '../usage-error.js'
import { writeReport } from '../lab/report.js'
import { findRun } from '../lab/results.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'tables, figures and one HTML file from a run or study',
  help: `Usage: stevec report <run|latest>

Reads results/<run>/ and writes results/<run>/report/: tables (CSV), figures (SVG, PNG) and
index.html. An earlier report there is replaced. The folder of a study gets one report on all of its
runs, with a verdict on each hypothesis. \`latest\` is the newest complete run or study.

Examples:
  stevec report latest
  stevec report results/sample
  stevec report 20261121T100000Z-study-abc1234`,
  options: {},
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    if (positionals.length === 0) throw new UsageError('which run? Name a folder of results/, or latest')
    await writeReport(findRun(configWith(values).resultsDirectory, positionals[0]))
    return 0
  }
}
