import { writeFileSync } from 'node:fs'
import { EXIT } from '../exit-codes.js'
import { violatedShareMax } from '../histories/staleness.js'
import { lineOf } from '../simulate/events.js'
import { MUTANTS } from '../simulate/mutants.js'
import { EVENTS_MAX, pictureOf } from '../simulate/picture.js'
import { simulate } from '../simulate/simulate.js'
import { UsageError } from '../usage-error.js'
import { integerOption, refuseMore } from './options.js'

/** @import {Event} from '../simulate/events.js' */
/** @import {Plan, Simulated} from '../simulate/simulate.js' */

const [SEED, READS, BOUND_MS, REPEAT_AFTER_S] = [1, 10_000, 500, 10]
const READS_MAX = 100_000_000
const POLICIES = /** @type {const} */ (['bounded', 'purge-url', 'purge-tag'])
/** Reads of one seed; then the next one begins. With purges, what is left at the end of each is looked at. */
const [READS_OF_A_SEED, PURGED_READS_OF_A_SEED] = [20_000, 500]
/** In which each planted fault has to be found, in parts. */
const [FAULT_READS, FAULT_SEED_READS] = [300_000, 5_000]

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'look for a read that is older than the bound, in a simulated world of faults',
  help: `Usage: stevec simulate [options]

Runs the modules that keep the bound of CACHE_POLICY=bounded (the wiki's purge log, the edge's lease
and its decisions) in virtual time: three wikis on a replica set, four edges, six readers, six pages
that are edited, and faults. Links are cut, slow, or swallow messages; wikis are stopped, killed,
put to sleep, and have their clocks set; the primary of the database is cut off; servers of the
database crash and lose what they had not synced; edges are restarted. Database, network and what
lies between the edge's modules are models.

With --policy purge-url or purge-tag the wiki's queue of purges runs instead: an edit's transaction
writes an entry for each edge, each is sent until the edge confirms it, and a second time later. No
fault loses an entry, but all delay them: the edge is parted, the call or its answer is lost, the
process that claimed it is killed or stopped. Then reads are older than the bound. A purge is of no
use, for as long as the response is stored, if an edge fetches an old text after the second one:
from a wiki that still reads from an old primary (at most 4 s here; --repeat-after 1 shows it).

Nothing but the seed decides what happens: the same seed gives the same history everywhere. After
${READS_OF_A_SEED} reads of a seed (${PURGED_READS_OF_A_SEED} with purges) the next one begins.

  --seed N         the first one, 0 to 2147483647 (default ${SEED})
  --reads N        of all seeds, 1 to ${READS_MAX} (default ${READS})
  --bound MS       100 to 60000 (default ${BOUND_MS})
  --policy NAME    ${POLICIES.join(', ')} (default ${POLICIES[0]})
  --repeat-after S when a purge is sent a second time, 1 to 3600 (default ${REPEAT_AFTER_S}), as the wiki's
                   PURGE_REPEAT_AFTER_S
  --no-faults      nothing fails
  --trace          every read, save, purge and fault, on standard output
  --picture FILE   the same as a picture (SVG): time goes down, a lane for each process; of one
                   seed, and at most ${EVENTS_MAX} of these
  --plant-faults   instead: plants faults in the modules, one at a time, and says after how many
                   reads each is found (at most ${FAULT_READS})

Exit code: 0 no read is older than the bound, or than what another one had that long before
(--plant-faults: each fault is found), 1 one is, 2 wrong usage, 3 it could not run. On standard
error: reads for each second of processor time.

Examples:
  stevec simulate
  stevec simulate --reads 1000000
  stevec simulate --seed 7 --reads 200 --trace
  stevec simulate --policy purge-url
  stevec simulate --policy purge-url --reads 289 --picture stale.svg
  stevec simulate --plant-faults`,
  options: {
    seed: { type: 'string' },
    reads: { type: 'string' },
    bound: { type: 'string' },
    policy: { type: 'string' },
    'repeat-after': { type: 'string' },
    'no-faults': { type: 'boolean' },
    trace: { type: 'boolean' },
    picture: { type: 'string' },
    'plant-faults': { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const policy = POLICIES.find((name) => name === (values.policy ?? POLICIES[0]))
    if (policy === undefined) throw new UsageError(`--policy is one of ${POLICIES.join(', ')}`)
    const repeatAfterS = integerOption(values['repeat-after'], '--repeat-after', { least: 1, most: 3_600 })
    const plan = {
      policy,
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 31 - 1 }) ?? SEED,
      reads: integerOption(values.reads, '--reads', { least: 1, most: READS_MAX }) ?? READS,
      boundMs: integerOption(values.bound, '--bound', { least: 100, most: 60_000 }) ?? BOUND_MS,
      repeatAfterMs: (repeatAfterS ?? REPEAT_AFTER_S) * 1_000,
      withFaults: !values['no-faults']
    }
    if (values['plant-faults']) return findPlanted(plan.seed)
    const most = readsOfASeed(policy)
    if (values.picture !== undefined && plan.reads > most) {
      throw new UsageError(`a picture is of one seed: give --reads ${most} or fewer`)
    }
    /** @type {Event[]} */
    const events = []
    const exit = await run({
      ...plan,
      trace (event) {
        if (values.trace) process.stdout.write(`${lineOf(event)}\n`)
        if (values.picture !== undefined) events.push(event)
      }
    })
    if (values.picture !== undefined) draw(values.picture, events, plan)
    return exit
  }
}

/** @param {Plan['policy']} policy */
const readsOfASeed = (policy) => policy === 'bounded' ? READS_OF_A_SEED : PURGED_READS_OF_A_SEED

/** @param {string} file @param {Event[]} events @param {Asked} plan */
function draw (file, events, plan) {
  if (events.length > EVENTS_MAX) {
    const fewer = Math.floor(plan.reads * EVENTS_MAX / events.length)
    throw new UsageError(`a picture shows ${EVENTS_MAX} reads, saves, purges and faults, and these are ${events.length}: ` +
      `give --reads ${fewer} or fewer`)
  }
  const title = replayOf(plan, plan.reads).replace(' --trace', '')
  try {
    writeFileSync(file, pictureOf(events, { title, boundMs: plan.boundMs }))
  } catch (error) {
    throw new UsageError(`--picture: ${/** @type {Error} */ (error).message}`)
  }
  process.stdout.write(`${file}\n`)
}

/** @typedef {Required<Omit<Plan, 'mutations' | 'trace' | 'onLuaTime'>>} Asked */

/** @param {Asked & Pick<Plan, 'trace'>} asked  reads: of all seeds */
async function run ({ seed, reads, ...plan }) {
  const sums = { reads: 0, old: 0, stale: 0, hits: 0, saves: 0, refused: 0, lost: 0, outdated: 0, lost_saves: 0 }
  const isBounded = plan.policy === 'bounded'
  const most = readsOfASeed(plan.policy)
  const beganCpu = process.cpuUsage()
  let luaS = 0
  let [oldestMs, deltaMs] = [0, 0]
  let next = seed
  const isBroken = () => isBounded && Math.max(oldestMs, deltaMs) > plan.boundMs
  while (sums.reads < reads && !isBroken()) {
    const asked = { ...plan, seed: next++, reads: Math.min(most, reads - sums.reads) }
    const part = await simulate({ ...asked, onLuaTime: (cpuS) => { luaS += cpuS } })
    if (sums.old === 0 && part.violations.length > 0) sayViolation(asked, part)
    else if (isBounded && part.atomic_delta_ms > plan.boundMs) sayOvertaken(asked, part)
    if (sums.outdated === 0 && part.outdated.length > 0) sayOutdated(asked, part)
    const counted = { ...part, old: part.violations.length, outdated: part.outdated.length }
    for (const name of /** @type {(keyof typeof sums)[]} */ (Object.keys(sums))) sums[name] += counted[name]
    oldestMs = Math.max(oldestMs, part.staleness_max_ms)
    deltaMs = Math.max(deltaMs, part.atomic_delta_ms)
    if (reads > READS_OF_A_SEED) process.stderr.write(`\r${sums.reads} reads, seed ${asked.seed} `)
  }
  if (reads > READS_OF_A_SEED) process.stderr.write('\n')
  process.stderr.write(timeOf(sums.reads, process.cpuUsage(beganCpu), luaS))
  process.stdout.write(summaryOf(sums, { oldestMs, deltaMs, boundMs: plan.boundMs, seeds: next - seed, isBounded }))
  return sums.old === 0 && sums.lost_saves === 0 && !isBroken() ? EXIT.good : EXIT.violated
}

/**
 * @param {number} reads @param {NodeJS.CpuUsage} own  of this process, with the wiki's modules
 * @param {number} luaS  of the edges
 */
function timeOf (reads, { user, system }, luaS) {
  const cpuS = (user + system) / 1e6 + luaS
  return `${(reads / cpuS).toFixed(0)} reads a second of processor time: ${cpuS.toFixed(2)} s, ` +
    `${luaS.toFixed(2)} s of them in the edges' Lua\n`
}

/**
 * @typedef {'reads' | 'old' | 'stale' | 'hits' | 'saves' | 'refused' | 'lost' | 'outdated' | 'lost_saves'} Counted
 * @param {Record<Counted, number>} sums
 * @param {{oldestMs: number, deltaMs: number, boundMs: number, seeds: number, isBounded: boolean}} facts
 */
function summaryOf (sums, { oldestMs, deltaMs, boundMs, seeds, isBounded }) {
  const share = violatedShareMax(sums.reads)
  const result = sums.old > 0
    ? `${sums.reads} reads of ${seeds} seeds, ${sums.old} older than ${boundMs} ms\n`
    : `${sums.reads} reads, none older than ${boundMs} ms: at most ${share.toExponential(1)} of such reads are, ` +
      'with 95 % confidence\n'
  const left = isBounded
    ? ''
    : `${sums.outdated} pages at edges stay outdated when nothing fails any more and all purges are sent\n`
  const lost = sums.lost_saves > 0 ? `the database lost ${sums.lost_saves} acknowledged writes\n` : ''
  return `${result}${sums.stale} were stale, by ${oldestMs.toFixed(0)} ms at most (Δ of Δ-atomicity: ` +
    `${deltaMs.toFixed(0)} ms); ${sums.hits} HITs; ` +
    `${sums.saves} saves; ${sums.refused} refused, ${sums.lost} without an answer\n${left}${lost}`
}

/** @param {Asked} asked @param {Simulated} part */
function sayViolation (asked, part) {
  const [{ page, revision, sent_ms: sentMs }] = part.violations
  const count = part.read_index + 1
  process.stdout.write(`seed ${asked.seed}: found after ${count} reads: ${page} revision ${revision}, sent at ` +
    `${sentMs.toFixed(3)} ms, is older than ${asked.boundMs} ms; see it with\n  ${replayOf(asked, count)}\n`)
}

/** @param {Asked} asked @param {Simulated} part */
function sayOvertaken (asked, { atomic_delta_ms: deltaMs }) {
  process.stdout.write(`seed ${asked.seed}: a read got an older text than another one had ${deltaMs.toFixed(0)} ms ` +
    `before it was sent; see it with\n  ${replayOf(asked, asked.reads)}\n`)
}

/** @param {Asked} asked @param {Simulated} part */
function sayOutdated (asked, { outdated }) {
  process.stdout.write(`seed ${asked.seed}: outdated for as long as responses are stored: ${outdated.join(', ')}; see it ` +
    `with\n  ${replayOf(asked, asked.reads)}\n`)
}

/** @param {Asked} asked @param {number} reads */
function replayOf ({ policy, seed, boundMs, repeatAfterMs, withFaults }, reads) {
  return ['stevec simulate', ...policy === 'bounded' ? [] : [`--policy ${policy}`], `--seed ${seed} --reads ${reads}`,
    ...boundMs === BOUND_MS ? [] : [`--bound ${boundMs}`],
    ...repeatAfterMs === REPEAT_AFTER_S * 1_000 ? [] : [`--repeat-after ${repeatAfterMs / 1_000}`],
    ...withFaults ? [] : ['--no-faults'], '--trace'].join(' ')
}

/** @param {number} first  seed */
async function findPlanted (first) {
  let missed = 0
  for (const mutation of MUTANTS) {
    let reads = 0
    let found = false
    for (let seed = first; !found && reads < FAULT_READS; seed++) {
      const part = await simulate({ seed, reads: FAULT_SEED_READS, mutations: [mutation] })
      reads += part.reads
      found = part.violations.length > 0
    }
    if (!found) missed++
    process.stdout.write(`${found ? 'found' : 'NOT FOUND'} within ${String(reads).padStart(5)} reads: ${mutation.name}\n`)
  }
  process.stdout.write(`${MUTANTS.length - missed} of ${MUTANTS.length} planted faults are found\n`)
  return missed === 0 ? EXIT.good : EXIT.violated
}
