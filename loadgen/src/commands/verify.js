import { lockMachine } from '@stevec/harness/machine-lock'
import { readConfig } from '../config.js'
import { EXIT } from '../exit-codes.js'
import { requireTool } from '@stevec/harness/tools/locate'
import { failing, tableLines, verify } from '../verify/verify.js'
import { interruptSignal, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'measure servers of known behaviour, to test the lab itself',
  help: `Usage: stevec verify [--short] [--json]

Tests the lab and the analysis on servers whose answers are known, and prints known and measured
values side by side: an origin of known capacity, a queue of known waiting times, a link, response
times of a known distribution, a background, a cache of known hit ratio, a history of known
staleness, a server that fails, each part of a stack as the bottleneck, a disturbed machine, and
counts, logs, samples and clocks that are wrong and must be detected.

  --short   smaller loads, in a fraction of the time
  --json    {"pass": …, "rows": […]} instead of a table

Nothing is kept. The generator takes most of the machine for some seconds, so no other measurement
may run at the same time. If other processes disturb a timed test, it is measured again, at most
three times in all, and the output says so ("disturbance" in a row of --json). With CI=true, timed
tests are shown but not judged ("judged": false).
Exit code: 0 all tests hold, 1 one does not, 2 wrong usage, 3 broken, 130 interrupted.

Examples:
  stevec verify
  stevec verify --short --json`,
  options: { short: { type: 'boolean' }, json: { type: 'boolean' } },
  async run ({ values, positionals, commandLine }) {
    refuseMore(positionals, 0)
    requireTool('k6')
    const release = await lockMachine({ command: commandLine })
    const say = (/** @type {string} */ text) => { process.stderr.write(`${text}\n`) }
    const judgeTimed = !readConfig().ci
    const options = { short: values.short === true, signal: interruptSignal(), say, judgeTimed }
    const rows = await verify(options).finally(release)
    const failed = failing(rows).length
    const judged = rows.filter((row) => row.judged !== false).length
    const verdict = failed === 0 ? `all ${judged} hold` : `${failed} of ${judged} ${failed === 1 ? 'does' : 'do'} NOT hold`
    const unjudged = judged === rows.length ? '' : `; ${rows.length - judged} timed, which is not judged here (CI)`
    if (values.json) process.stdout.write(`${JSON.stringify({ pass: failed === 0, rows }, null, 2)}\n`)
    else process.stdout.write(`\n${tableLines(rows).join('\n')}\n\n${verdict}${unjudged}\n`)
    return failed === 0 ? EXIT.good : EXIT.violated
  }
}
