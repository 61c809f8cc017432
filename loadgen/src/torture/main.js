// `make torture-cluster`: kills, holds up and cuts off the parts of a cluster during edits, and checks that no
// acknowledged edit is lost. The last line of its output is JSON.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { holds } from '@stevec/wiki-app/torture/oracle'
import { byFault, primaryAcceptedMaxMs } from './summary.js'
import { tortureCluster } from './torture.js'

const HELP = `Usage: node loadgen/src/torture/main.js [options]

Starts three wikis on a replica set of three mongods, with Redis, nginx, an edge and links between
them. While 8 editors and 2 readers are at work, it kills (kill -9), holds up (SIGSTOP) or cuts off
one part after the other, heals it after 1 to 8 s, and compares what was acknowledged with what is
stored. Each mongod has a network namespace of its own, so its partition is a real one. Everything
is in a network namespace of this command and in a temporary folder.

  --faults N           faults in all (default 100); about a third of them hit two parts at once
  --seed N             same seed, same faults; the machine's timing differs (default: the time)
  --accepted-max-ms N  another promise: after a fault that hits the primary mongod and nothing else,
                       an edit is accepted within N ms (default: shown, but no promise)

Exit code: 0 every promise held, 1 one did not, 2 wrong usage, 3 no network namespace can be made
(it takes iproute2, and root or a kernel that lets users make one), 130 interrupted.

Examples:
  make torture-cluster
  node loadgen/src/torture/main.js --faults 10 --seed 7
  node loadgen/src/torture/main.js --accepted-max-ms 5000
`
const WRONG_USAGE = 2
const NO_NAMESPACE = 3
const INTERRUPTED = 130
const INTERRUPTIONS = /** @type {const} */ (['SIGINT', 'SIGTERM'])
/** Whose network this command started in; absent: it has none of its own yet. */
const OUTSIDE = 'STEVEC_TORTURE_OUTSIDE'

const options = readOptions()
if (options.help) process.stdout.write(HELP)
else if (process.env[OUTSIDE] === undefined) process.exitCode = await startInside()
else process.exitCode = await tortureInside(options)

/** @typedef {{help: boolean, faults: number, seed: number, acceptedMaxMs: number | null}} Options */

/** @returns {Options} */
function readOptions () {
  try {
    const { values } = parseArgs({
      options: {
        faults: { type: 'string' },
        seed: { type: 'string' },
        'accepted-max-ms': { type: 'string' },
        help: { type: 'boolean', short: 'h' }
      },
      strict: true
    })
    const acceptedMaxMs = values['accepted-max-ms']
    return {
      help: values.help ?? false,
      faults: whole('faults', values.faults ?? '100', 10_000),
      seed: whole('seed', values.seed ?? String(Math.floor(Date.now() / 1000) % 1_000_000 + 1), 2 ** 31),
      acceptedMaxMs: acceptedMaxMs === undefined ? null : whole('accepted-max-ms', acceptedMaxMs, 3_600_000)
    }
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).message}\nnode loadgen/src/torture/main.js --help\n`)
    return process.exit(WRONG_USAGE)
  }
}

/**
 * @param {string} name  of an option
 * @param {string} text
 * @param {number} most
 */
function whole (name, text, most) {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1 && number <= most) return number
  throw new Error(`--${name} must be a whole number from 1 to ${most}, not "${text}"`)
}

/** Starts this command again, in a network namespace of its own. @returns {Promise<number>} its exit code */
async function startInside () {
  if (spawnSync('ip', ['-V']).status !== 0) {
    process.stderr.write('ip is missing; run `apt-get install --no-install-recommends iproute2`\n')
    return NO_NAMESPACE
  }
  const ways = [['--net'], ['--user', '--map-root-user', '--net']]
  const way = ways.find((way) => spawnSync('unshare', [...way, '--', 'true']).status === 0)
  if (way === undefined) {
    process.stderr.write(
      'no network namespace can be made here: run it as root, or where the kernel lets users make one\n')
    return NO_NAMESPACE
  }
  const outside = readlinkSync('/proc/self/ns/net')
  const child = spawn('unshare', [...way, '--', process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit', env: { ...process.env, [OUTSIDE]: outside }
  })
  for (const name of INTERRUPTIONS) process.on(name, () => child.kill(name))
  const [code, signal] = await once(child, 'exit')
  return code ?? (INTERRUPTIONS.includes(signal) ? INTERRUPTED : 1)
}

/** @param {Options} options @returns {Promise<number>} exit code */
async function tortureInside ({ faults, seed, acceptedMaxMs }) {
  if (process.env[OUTSIDE] === readlinkSync('/proc/self/ns/net')) {
    throw new Error(`${OUTSIDE} is set by this command alone`)
  }
  const row = (/** @type {(string | number)[]} */ ...cells) => console.log(`| ${cells.join(' | ')} |`)
  const interrupted = new AbortController()
  // A Ctrl-C comes twice, from the terminal and from startInside; the second one must not end the clean-up.
  for (const name of INTERRUPTIONS) process.on(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
  console.log(`seed ${seed}\n`)
  row('fault', 'what', 'how', 'for, ms', 'an edit accepted after, ms', 'longest time without, ms')
  row('---', '---', '---', '---', '---', '---')
  const startedAt = performance.now()
  try {
    const result = await tortureCluster({
      faults,
      seed,
      signal: interrupted.signal,
      onFault: ({ name, kind, lasts_ms: lasts, accepted_after_ms: accepted, gap_ms: gap }, number) =>
        row(`${number}/${faults}`, name, kind, lasts, accepted, gap)
    })
    return report({ ...result, seed, duration_s: Math.round((performance.now() - startedAt) / 1000) }, acceptedMaxMs)
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).stack}\n`)
    return interrupted.signal.aborted ? INTERRUPTED : 1
  }
}

/**
 * @param {Awaited<ReturnType<typeof tortureCluster>> & {seed: number, duration_s: number}} result
 * @param {number | null} acceptedMaxMs  null: no promise
 * @returns {number} exit code
 */
function report ({ outcomes, findings, unexpected, stale_at_the_edge: stale, ...result }, acceptedMaxMs) {
  const primaryMs = primaryAcceptedMaxMs(outcomes)
  // A promise that no fault has tried has not held.
  const inTime = acceptedMaxMs === null || (primaryMs !== null && primaryMs <= acceptedMaxMs)
  const held = holds(findings) && unexpected.length === 0 && stale.length === 0 && inTime
  const summary = byFault(outcomes)
  console.log()
  for (const [name, times] of Object.entries(findings)) console.log(`${String(times).padStart(6)} ${name}`)
  console.log(`${String(stale.length).padStart(6)} stale at the edge at the end`)
  console.log(`${String(primaryMs ?? '–').padStart(6)} ms at most until an edit is accepted after a fault of the ` +
    `primary alone${acceptedMaxMs === null ? '' : ` (promised: ${acceptedMaxMs})`}`)
  console.log('\n| fault | times | an edit accepted after, ms: median | most | longest time without, ms |')
  console.log('|---|---|---|---|---|')
  for (const { fault, times, accepted_median_ms: median, accepted_max_ms: most, gap_max_ms: gap } of summary) {
    console.log(`| ${[fault, times, median, most, gap].join(' | ')} |`)
  }
  for (const answer of new Set(unexpected)) console.log(`unexpected: ${answer}`)
  console.log(JSON.stringify({
    ...result,
    ...findings,
    stale_at_the_edge: stale.length,
    unexpected: unexpected.length,
    faults: outcomes.length,
    primary_accepted_max_ms: primaryMs,
    by_fault: summary,
    held
  }))
  return held ? 0 : 1
}
