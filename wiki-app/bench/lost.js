// What a strategy of saving acknowledges and loses when the wiki ends under load. `--help` says how to ask.
import { parseArgs } from 'node:util'
import { DEFERRED_STRATEGIES, WRITE_BEHIND } from '../src/deferred/strategy-names.js'
import { WRITE_STRATEGIES } from '../src/pages/commit.js'
import { ENDINGS, FAILOVERS, measureLoss } from '../torture/loss.js'
import { meanInterval } from './mean-interval.js'

const STRATEGIES = [...WRITE_STRATEGIES, ...DEFERRED_STRATEGIES]
const HELP = `Usage: node wiki-app/bench/lost.js [options]

Ends a wiki at random moments while 16 writers save pages of 200 words, and counts which acknowledged saves are neither
stored nor shown as failed. What waits in Redis is stored by the next wiki first. The unit is the trial: one start, one
end. A trial takes some seconds. The last line of the output is JSON.

  --strategy S  one of ${STRATEGIES.join(', ')} (default: all in turn)
  --ending E    ${ENDINGS.join(', ')} (default SIGKILL). FAILOVER kills the master of Redis, whose
                replica takes over, and the wiki goes on; LATE: the replica was cut off in the last second. Both are
                for ${WRITE_BEHIND} alone
  --trials N    of each strategy, 2 to 1000 (default 20)
  --workers N   processes of the wiki (default 1)
  --seed N      same seed, same texts and moments (default 1)

Examples:
  node wiki-app/bench/lost.js
  node wiki-app/bench/lost.js --strategy unsafe-bulk --ending SIGTERM --trials 50
`

const { values } = parseArgs({
  options: {
    strategy: { type: 'string' },
    ending: { type: 'string', default: 'SIGKILL' },
    trials: { type: 'string', default: '20' },
    workers: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h' }
  },
  strict: true
})
const [trials, workers, seed] = [values.trials, values.workers, values.seed].map(Number)
const ending = ENDINGS.find((each) => each === values.ending)
const isOfRedis = FAILOVERS.some((each) => each === ending)
const strategies = STRATEGIES.filter((each) =>
  (values.strategy === undefined || each === values.strategy) && (!isOfRedis || each === WRITE_BEHIND))
if (values.help) {
  process.stdout.write(HELP)
} else if (ending === undefined || strategies.length === 0 || !(trials >= 2 && trials <= 1_000) ||
  !(workers >= 1 && workers <= 64) || !Number.isInteger(seed)) {
  process.stderr.write('an option is not allowed; see node wiki-app/bench/lost.js --help\n')
  process.exitCode = 2
} else {
  const interrupted = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
  }
  console.log(`| strategy | ${ending}s | acknowledged | lost | mean lost (95 % interval) | most lost | doubled |\n` +
    '|---|---|---|---|---|---|---|')
  const results = []
  for (const strategy of strategies) {
    const options = { strategy, ending, trials, workers, seed, signal: interrupted.signal }
    const { trials: done } = await measureLoss(options)
    const lost = done.map((trial) => trial.lost)
    const { mean, low, high } = meanInterval(lost)
    const sum = (/** @type {'acknowledged' | 'lost' | 'doubled'} */ key) =>
      done.reduce((all, each) => all + each[key], 0)
    const interval = `${mean.toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`
    console.log(`| \`${strategy}\` | ${done.length} | ${sum('acknowledged')} | ${sum('lost')} | ${interval} | ` +
      `${Math.max(...lost)} | ${sum('doubled')} |`)
    results.push({ strategy, ending, trials: done })
  }
  console.log(JSON.stringify(results))
}
