// `make torture-cluster`: kills, holds up and cuts off the parts of a cluster during edits, and checks that no
// acknowledged edit is lost. The last line of its output is JSON.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { holds } from '@stevec/wiki-app/torture/oracle'
import { byFault } from './summary.js'
import { tortureCluster } from './torture.js'

const HELP = `Usage: node loadgen/src/torture/main.js [options]

Starts three wikis on a replica set of three mongods, with Redis, nginx, an edge and links between
them. While 8 editors and 2 readers are at work, it kills (kill -9), holds up (SIGSTOP) or cuts off
one part after the other, heals it after 1 to 8 s, and compares what was acknowledged with what is
stored. Each mongod has a network namespace of its own, so its partition is a real one. Everything
is in a network namespace of this command and in a temporary folder.

  --faults N   faults in all (default 100); about a third of them hit two parts at once
  --seed N     same seed, same faults; the machine's timing differs (default: the time)

Exit code: 0 every promise held, 1 one did not, 2 wrong usage, 3 no network namespace can be made
(it takes root, or a kernel that lets users make one), 130 interrupted.

Examples:
  make torture-cluster
  node loadgen/src/torture/main.js --faults 10 --seed 7
`
const NO_NAMESPACE = 3
/** Whose network this command started in; absent: it has none of its own yet. */
const OUTSIDE = 'STEVEC_TORTURE_OUTSIDE'

const { values } = parseArgs({
  options: { faults: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  strict: true
})
if (values.help) process.stdout.write(HELP)
else if (process.env[OUTSIDE] === undefined) process.exitCode = await startInside()
else process.exitCode = await tortureInside()

/** Starts this command again, in a network namespace of its own. @returns {Promise<number>} its exit code */
async function startInside () {
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
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(name, () => child.kill(name))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/** @returns {Promise<number>} exit code */
async function tortureInside () {
  if (process.env[OUTSIDE] === readlinkSync('/proc/self/ns/net')) {
    throw new Error(`${OUTSIDE} is set by this command alone`)
  }
  const faults = whole('faults', 100, 10_000)
  const seed = whole('seed', Math.floor(Date.now() / 1000) % 1_000_000, 2 ** 31)
  const row = (/** @type {(string | number)[]} */ ...cells) => console.log(`| ${cells.join(' | ')} |`)
  const interrupted = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
  }
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
    return report({ ...result, seed, duration_s: Math.round((performance.now() - startedAt) / 1000) })
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).stack}\n`)
    return interrupted.signal.aborted ? 130 : 1
  }
}

/**
 * @param {Awaited<ReturnType<typeof tortureCluster>> & {seed: number, duration_s: number}} result
 * @returns {number} exit code
 */
function report ({ outcomes, findings, unexpected, stale_at_the_edge: stale, ...result }) {
  const held = holds(findings) && unexpected.length === 0 && stale.length === 0
  const summary = byFault(outcomes)
  console.log()
  for (const [name, times] of Object.entries(findings)) console.log(`${String(times).padStart(6)} ${name}`)
  console.log(`${String(stale.length).padStart(6)} stale at the edge at the end`)
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
    by_fault: summary,
    held
  }))
  return held ? 0 : 1
}

/**
 * @param {'faults' | 'seed'} name
 * @param {number} otherwise
 * @param {number} most
 */
function whole (name, otherwise, most) {
  const number = Number(values[name] ?? otherwise)
  if (Number.isInteger(number) && number >= 1 && number <= most) return number
  process.stderr.write(`--${name} must be a whole number from 1 to ${most}, not "${values[name]}"\n`)
  return process.exit(2)
}
