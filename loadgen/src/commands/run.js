import { UsageError } from '../usage-error.js'
import { experimentNames, loadDefinition } from '../lab/definition.js'
import { createProgress } from '../lab/progress.js'
import { writeReport } from '../lab/report.js'
import { runExperiment } from '../lab/run.js'
import { requireTool } from '../tools/locate.js'
import { configWith, integerOption, interruptSignal, PORT_HELP, PORT_OPTIONS, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'run an experiment on a stack of its own',
  help: `Usage: stevec run <experiment> [options]

Starts a stack with an empty database of its own, runs the experiment's trials in a random order, writes results/<run>/, stops the stack.
Exit code: 0 all trials valid, 1 some are not or the run failed, 130 interrupted.

Experiments: ${experimentNames().join(', ')}

  --preset quick|full  default quick
  --seed N             default 1; the same seed gives the same requests in the same order
  --repetitions N      instead of the preset's
  --vus N              instead of the experiment's
  --report             write the report as well
${PORT_HELP}

Examples:
  stevec run read-hot
  stevec run read-hot --preset full --seed 7 --report`,
  options: {
    preset: { type: 'string' },
    seed: { type: 'string' },
    repetitions: { type: 'string' },
    vus: { type: 'string' },
    report: { type: 'boolean' },
    ...PORT_OPTIONS
  },
  async run ({ values, positionals, commandLine }) {
    refuseMore(positionals, 1)
    if (positionals.length === 0) throw new UsageError(`name an experiment: ${experimentNames().join(', ')}`)
    const preset = values.preset ?? 'quick'
    if (preset !== 'quick' && preset !== 'full') throw new UsageError(`--preset is quick or full, not "${preset}"`)
    const seed = integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1
    const definition = loadDefinition(positionals[0], preset, {
      repetitions: integerOption(values.repetitions, '--repetitions', { least: 1, most: 1000 }),
      vus: integerOption(values.vus, '--vus', { least: 1, most: 1000 })
    })
    requireTool('k6')
    const { directory, invalid } = await runExperiment({
      definition,
      preset,
      seed,
      command: commandLine,
      config: configWith(values),
      signal: interruptSignal(),
      progress: createProgress((text) => process.stdout.write(text))
    })
    if (values.report) await writeReport(directory)
    return invalid === 0 ? 0 : 1
  }
}
