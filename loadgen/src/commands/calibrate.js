import path from 'node:path'
import { calibrate } from '../calibrate/calibrate.js'
import { configWith, interruptSignal, PORT_HELP, PORT_OPTIONS, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'fit a profile to experiment E1 on this machine',
  help: `Usage: stevec calibrate [options]

Starts a stack of its own and repeats short trials like E1's (cold caches, one reader, a fresh connection for each request) until the mean times at the doors
source, local and cached are those of the study, and the origin answers as many pages a second as its cores can at that time a page.
Fits the CPU share of the origin's processes, the rest of a page's time at the origin, the client's own time, and the round trip to the edge; to E1 alone:
what other experiments then show under this profile are predictions. Takes one to four minutes, best on a quiet machine.

Writes .stevec/profiles/<name>.json, with the data and what deviates; \`--profile <name>\` of other commands takes it from there on this machine.

  --profile NAME       default banana-pi; or a file of your own with a "calibration"
${PORT_HELP}

Examples:
  stevec calibrate
  stevec calibrate --profile my-board.json`,
  options: { profile: { type: 'string' }, ...PORT_OPTIONS },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const { file, calibration: { fitted } } = await calibrate({
      profile: values.profile ?? 'banana-pi',
      config: configWith(values),
      signal: interruptSignal(),
      write: (text) => process.stdout.write(text)
    })
    const share = fitted.cpu_share === null ? 'CPU not limited' : `${(100 * fitted.cpu_share).toFixed(1)} % of a core`
    process.stdout.write(`fitted: ${share}, ${fitted.delay_ms} ms more at the origin, ${fitted.overhead_ms} ms at the client, ${fitted.client_edge_rtt_ms} ms round trip to the edge\nwritten: ${path.relative(process.cwd(), file)}\n`)
    return 0
  }
}
