import { compactResults } from '../lab/compact.js'
import { findRun } from '../lab/results.js'
import { UsageError } from '../usage-error.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'a run or study in a fraction of its bytes, with the same report',
  help: `Usage: stevec compact <run|latest>

Rewrites the trials of a run or study, and says how many bytes they had and have. Samples become
Parquet files. The access logs and the single requests of a background are removed; trial.json
keeps their counts, the sums that the report takes from them, and their SHA-256. A report on the
run has the same numbers as before. A trial whose files are not whole stays as it is.

Examples:
  stevec compact latest
  stevec compact results/sample`,
  options: {},
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    if (positionals.length === 0) throw new UsageError('which run? Name a folder of results/, or latest')
    process.stdout.write(`${await compactResults(findRun(configWith(values).resultsDirectory, positionals[0]))}\n`)
    return 0
  }
}
