import path from 'node:path'
import { isDirty, resolveCommit } from '@stevec/harness/worktree'
import { compareVersions } from '../lab/compare-run.js'
import { experimentNames, otherExperiments } from '../lab/experiment-files.js'
import { UsageError } from '../usage-error.js'
import { configWith, integerOption, interruptSignal, PORT_HELP, PORT_OPTIONS } from './options.js'

const DEFAULT_ROUNDS = 3
const ROUNDS_MAX = 20
const DEFAULT_EXPERIMENT = 'read-hot'
/** Options of `stevec run` that both versions get. */
const PASSED_ON = ['preset', 'repetitions', 'only', 'profile']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'measure two versions of this repository in turns, and compare them',
  help: `Usage: stevec compare-run OLD [NEW] [experiment|FILE.json] [options]

Checks out two versions of this repository, runs an experiment with each in turns (A B B A … or
B A A B …, by chance), and compares them as \`stevec compare\` does: the unit is the run. NEW is the
last commit of the working tree (HEAD) if it is not named, and the experiment is ${DEFAULT_EXPERIMENT}. All runs
send the same requests. A version whose npm or Python packages differ installs its own.

Results go into results/<utc>-compare-<experiment>/: old/ and new/ with the runs, comparison.json
(also for \`stevec compare --spread\`) and comparison.svg. The versions are checked out below the
state folder, and removed at the end, also after Ctrl-C.

  --rounds K        runs of each version, 2 to ${ROUNDS_MAX} (default ${DEFAULT_ROUNDS}); fewer find large differences only
  --seed N          of the requests, and of the order of the runs (default 1)
  --gate FILE       limits that NEW has to keep, as in \`stevec compare\`
  --quiet           no progress of the runs
  --preset, --repetitions, --only, --profile
                    as in \`stevec run\`
${PORT_HELP}

Exit code: 0 compared, 1 the gate is violated, 2 wrong usage or versions that cannot be compared,
3 a run failed, 130 interrupted.

Examples:
  stevec compare-run HEAD~1
  stevec compare-run v1.0 main policy --rounds 5 --preset quick
  stevec compare-run main HEAD read-hot --only door=cached --gate gate.json`,
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    gate: { type: 'string' },
    quiet: { type: 'boolean' },
    ...Object.fromEntries(PASSED_ON.map((name) => [name, { type: /** @type {const} */ ('string') }])),
    ...PORT_OPTIONS
  },
  async run ({ values, positionals, signal = interruptSignal() }) {
    const { refs, experiment } = await named(positionals)
    const passed = [...PASSED_ON, ...Object.keys(PORT_OPTIONS)].filter((name) => values[name] !== undefined)
    return compareVersions({
      config: configWith(values),
      versions: {
        old: { ref: refs[0], commit: await resolveCommit(refs[0]) },
        new: { ref: refs[1], commit: await resolveCommit(refs[1]) }
      },
      experiment,
      rounds: integerOption(values.rounds, '--rounds', { least: 2, most: ROUNDS_MAX }) ?? DEFAULT_ROUNDS,
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1,
      gate: values.gate,
      runOptions: [
        ...passed.map((name) => `--${name}=${isFile(values[name]) ? path.resolve(values[name]) : values[name]}`),
        ...values.quiet ? ['--quiet'] : []
      ],
      signal
    })
  }
}

/** @param {string} value  a profile may be one; each version runs in a folder of its own */
const isFile = (value) => value.endsWith('.json')

/**
 * @param {string[]} positionals
 * @throws {UsageError}
 */
async function named (positionals) {
  const last = positionals.at(-1) ?? ''
  const namesExperiment = positionals.length > 1 && (isFile(last) || [...experimentNames(), 'study'].includes(last))
  const refs = namesExperiment ? positionals.slice(0, -1) : positionals
  if (refs.length === 0) throw new UsageError('which version? Name a commit, tag or branch, such as HEAD~1')
  if (refs.length > 2) {
    throw new UsageError(`"${refs[2]}" is no experiment${otherExperiments(refs[2])}`)
  }
  if (namesExperiment && last === 'study') throw new UsageError('compare-run takes one experiment, not the study')
  if (refs.length === 1 && await isDirty()) {
    throw new UsageError(
      'the working tree has changes that no commit has, and only commits are measured: commit them or put them aside ' +
      'with `git stash -u`, or name HEAD to measure without them'
    )
  }
  return {
    refs: [refs[0], refs[1] ?? 'HEAD'],
    experiment: namesExperiment ? isFile(last) ? path.resolve(last) : last : DEFAULT_EXPERIMENT
  }
}
