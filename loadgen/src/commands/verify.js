import { readConfig } from '../config.js'
import { requireTool } from '@stevec/harness/tools/locate'
import { failing, tableLines, verify } from '../verify/verify.js'
import { interruptSignal, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'measure what is known, to see that the lab can be trusted',
  help: `Usage: stevec verify [--short] [--json]

Runs the lab and the analysis on servers whose answers are known, and prints what is known beside what was measured:
an origin of known capacity, a cache of known hit ratio, a history of known staleness, a generator that is the limit,
and counts, logs, samples and clocks that are wrong and must be found out.

  --short   smaller loads, in a fraction of the time
  --json    {"pass": …, "rows": […]} instead of a table

Nothing of it is kept. The origin is timed and the generator takes most of the machine for some seconds, so that
nothing else should measure at the same time. What is timed and does not hold while others work on the machine is
measured again, three times at most; that it was so is said ("disturbance" in a row of --json).
With CI=true, as continuous integration sets it, what is timed is shown but not judged ("judged": false).
Exit code: 0 all of it holds, 1 something does not or could not be run, 130 interrupted.

Examples:
  stevec verify
  stevec verify --short --json`,
  options: { short: { type: 'boolean' }, json: { type: 'boolean' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    requireTool('k6')
    const say = (/** @type {string} */ text) => { process.stderr.write(`${text}\n`) }
    const judgeTimed = !readConfig().ci
    const rows = await verify({ short: values.short === true, signal: interruptSignal(), say, judgeTimed })
    const failed = failing(rows).length
    const judged = rows.filter((row) => row.judged !== false).length
    const verdict = failed === 0 ? `all ${judged} hold` : `${failed} of ${judged} do NOT hold`
    const unjudged = judged === rows.length ? '' : `; ${rows.length - judged} are timed, which is not judged here (CI)`
    if (values.json) process.stdout.write(`${JSON.stringify({ pass: failed === 0, rows }, null, 2)}\n`)
    else process.stdout.write(`\n${tableLines(rows).join('\n')}\n\n${verdict}${unjudged}\n`)
    return failed === 0 ? 0 : 1
  }
}
