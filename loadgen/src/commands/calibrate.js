import path from 'node:path'
import { lockMachine } from '@stevec/harness/machine-lock'
import { calibrate } from '../calibrate/calibrate.js'
import { withLabFolder } from '../lab/lab-folder.js'
import { configWith, interruptSignal, PORT_HELP, PORT_OPTIONS, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'fit a profile to experiment E1 on this machine',
  help: `Usage: stevec calibrate [options]

Fits a profile to experiment E1 on this machine: repeats short trials (cold caches, one reader, a
new connection for each request) on a stack of its own, until the mean times at the doors source,
local and cached and the capacity of the origin are those of the study. It fits the CPU share of the
origin, the rest of a page's time there, the client's own time and the round trip to the edge. Under
the fitted profile, the results of all other experiments are predictions. Takes one to four minutes;
a quiet machine gives the best fit.

Writes .stevec/profiles/<name>.json, with the data and the deviations. Then \`--profile <name>\` of
other commands uses it on this machine.

  --profile NAME       default banana-pi; or a file of your own with a "calibration"
${PORT_HELP}

Exit code: 0 written, 1 no fit within 20 %, 2 wrong usage, 3 it could not be measured,
130 interrupted.

Examples:
  stevec calibrate
  stevec calibrate --profile my-board.json`,
  options: { profile: { type: 'string' }, ...PORT_OPTIONS },
  async run ({ values, positionals, commandLine }) {
    refuseMore(positionals, 0)
    const config = configWith(values)
    const release = await lockMachine({ command: commandLine })
    const { file, calibration: { fitted } } = await withLabFolder(config.stateDirectory, () => calibrate({
      profile: values.profile ?? 'banana-pi',
      config,
      signal: interruptSignal(),
      write: (text) => process.stdout.write(text)
    })).finally(release)
    const share = fitted.cpu_share === null ? 'CPU not limited' : `${(100 * fitted.cpu_share).toFixed(1)} % of a core`
    process.stdout.write(`fitted: ${share}, ${fitted.delay_ms} ms more at the origin, ${fitted.overhead_ms} ms at the client, ${fitted.client_edge_rtt_ms} ms round trip to the edge\nwritten: ${path.relative(process.cwd(), file)}\n`)
    return 0
  }
}
