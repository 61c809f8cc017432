// `make torture`: kills processes (kill -9) at random moments during edits, and checks that no acknowledged edit is
// lost. The last line of its output is JSON.
import { parseArgs } from 'node:util'
import { WRITE_STRATEGIES } from '../src/pages/commit.js'
import { holds } from './oracle.js'
import { torture } from './torture.js'

const HELP = `Usage: node wiki-app/torture/main.js [options]

Kills the wiki, mongod, or both with SIGKILL at random moments while 16 editors and 4 readers are at work, starts them again, and compares
what was acknowledged with what is stored, and what search finds with that. Everything is on free ports and in a
temporary folder. Ends with 0 when every promise held.

  --trials N   kills, in turn of the wiki, mongod and both (default 21)
  --edits N    acknowledged edits in all, at least (default 10500)
  --workers N  processes of the wiki (default 1); with more, one of them is killed alone in every fourth trial
  --strategy S of committing: ${WRITE_STRATEGIES.join(' or ')} (default sync)
  --seed N     same seed, same kills and texts; the machine's timing differs still (default: the time)

Examples:
  make torture
  node wiki-app/torture/main.js --trials 60 --edits 30000 --seed 7
  node wiki-app/torture/main.js --workers 3 --trials 20
  make torture STRATEGY=group-commit
`

const { values } = parseArgs({
  options: {
    trials: { type: 'string' },
    edits: { type: 'string' },
    workers: { type: 'string' },
    strategy: { type: 'string', default: 'sync' },
    seed: { type: 'string' },
    help: { type: 'boolean', short: 'h' }
  },
  strict: true
})
if (values.help) {
  process.stdout.write(HELP)
} else if (!WRITE_STRATEGIES.some((each) => each === values.strategy)) {
  process.stderr.write(`--strategy must be ${WRITE_STRATEGIES.join(' or ')}, not "${values.strategy}"\n`)
  process.exitCode = 2
} else {
  const [trials, edits, workers, seed] = [
    whole('trials', 21, 1_000),
    whole('edits', 10_500, 1_000_000),
    whole('workers', 1, 64),
    whole('seed', Math.floor(Date.now() / 1000) % 1_000_000, 2 ** 31)
  ]
  const row = (/** @type {(string | number)[]} */ ...cells) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`seed ${seed}\n`)
  row('trial', 'killed', 'after edits', 'acknowledged', 'fate unknown', 'back after, ms', 'so far')
  row('---', '---', '---', '---', '---', '---', '---')
  const startedAt = performance.now()
  const interrupted = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
  }
  const { findings, words, unexpected, ...result } = await torture({
    trials,
    edits,
    seed,
    workers,
    strategy: values.strategy,
    signal: interrupted.signal,
    onTrial: (trial, number) => row(
      `${number}/${trials}`,
      trial.killed,
      trial.killed_after,
      trial.acknowledged,
      trial.unknown,
      trial.back_after_ms,
      trial.held ? 'all kept' : 'BROKEN'
    )
  }).catch((error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(interrupted.signal.aborted ? 130 : 1)
  })
  const held = holds(findings) && words.length === 0 && unexpected.length === 0
  console.log()
  for (const [name, times] of Object.entries(findings)) console.log(`${String(times).padStart(6)} ${name}`)
  for (const difference of words) console.log(`index of words: ${difference}`)
  for (const answer of new Set(unexpected)) console.log(`unexpected answer: ${answer}`)
  console.log(JSON.stringify({
    seed,
    workers,
    strategy: values.strategy,
    trials: result.trials.length,
    acknowledged: result.acknowledged,
    unknown: result.unknown,
    reads: result.reads,
    ...findings,
    words_equal: words.length === 0,
    unexpected: unexpected.length,
    back_max_ms: Math.max(...result.trials.map(({ back_after_ms: ms }) => ms)),
    duration_s: Math.round((performance.now() - startedAt) / 1000),
    held
  }))
  process.exitCode = held ? 0 : 1
}

/**
 * @param {'trials' | 'edits' | 'workers' | 'seed'} name
 * @param {number} otherwise
 * @param {number} most
 */
function whole (name, otherwise, most) {
  const number = Number(values[name] ?? otherwise)
  if (Number.isInteger(number) && number >= 1 && number <= most) return number
  process.stderr.write(`--${name} must be a whole number from 1 to ${most}, not "${values[name]}"\n`)
  return process.exit(2)
}
