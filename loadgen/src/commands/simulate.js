import { EXIT } from '../exit-codes.js'
import { violatedShareMax } from '../histories/staleness.js'
import { MUTANTS } from '../simulate/mutants.js'
import { simulate } from '../simulate/simulate.js'
import { integerOption, refuseMore } from './options.js'

const [SEED, READS, BOUND_MS] = [1, 10_000, 500]
const READS_MAX = 100_000_000
/** Reads of one seed; then the next one begins. */
const READS_OF_A_SEED = 20_000
/** In which each planted fault has to be found, in parts. */
const [FAULT_READS, FAULT_SEED_READS] = [300_000, 5_000]

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'look for a read that is older than the bound, in a simulated world of faults',
  help: `Usage: stevec simulate [options]

Runs the modules that keep the bound of CACHE_POLICY=bounded (the wiki's purge log, the edge's lease
and its decisions) in virtual time: three wikis on a replica set, four edges, six readers, six pages
that are edited, and faults. Links are cut, slow, or swallow messages; wikis are stopped, killed,
put to sleep, and have their clocks set; the primary of the database is cut off; edges are
restarted. Database, network and what lies between the edge's modules are models.

Nothing but the seed decides what happens: the same seed gives the same history everywhere. After
${READS_OF_A_SEED} reads of a seed the next one begins.

  --seed N         the first one, 0 to 2147483647 (default ${SEED})
  --reads N        of all seeds, 1 to ${READS_MAX} (default ${READS})
  --bound MS       100 to 60000 (default ${BOUND_MS})
  --no-faults      nothing fails
  --trace          every read, save and fault, on standard output
  --plant-faults   instead: plants faults in the modules, one at a time, and says after how many
                   reads each is found (at most ${FAULT_READS})

Exit code: 0 no read is older than the bound (--plant-faults: each fault is found), 1 one is,
2 wrong usage, 3 it could not run.

Examples:
  stevec simulate
  stevec simulate --reads 1000000
  stevec simulate --seed 7 --reads 200 --trace
  stevec simulate --plant-faults`,
  options: {
    seed: { type: 'string' },
    reads: { type: 'string' },
    bound: { type: 'string' },
    'no-faults': { type: 'boolean' },
    trace: { type: 'boolean' },
    'plant-faults': { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const seed = integerOption(values.seed, '--seed', { least: 0, most: 2 ** 31 - 1 }) ?? SEED
    const reads = integerOption(values.reads, '--reads', { least: 1, most: READS_MAX }) ?? READS
    const boundMs = integerOption(values.bound, '--bound', { least: 100, most: 60_000 }) ?? BOUND_MS
    if (values['plant-faults']) return findPlanted(seed)
    const trace = values.trace ? (/** @type {string} */ line) => { process.stdout.write(`${line}\n`) } : undefined
    return run({ seed, reads, boundMs, withFaults: !values['no-faults'], trace })
  }
}

/** @param {import('../simulate/simulate.js').Plan & {boundMs: number}} plan  reads: of all seeds */
async function run ({ seed, reads, ...plan }) {
  const sums = { reads: 0, stale: 0, hits: 0, saves: 0, refused: 0, lost: 0 }
  let oldestMs = 0
  for (let next = seed; sums.reads < reads; next++) {
    const part = await simulate({ ...plan, seed: next, reads: Math.min(READS_OF_A_SEED, reads - sums.reads) })
    for (const name of /** @type {(keyof typeof sums)[]} */ (Object.keys(sums))) sums[name] += part[name]
    oldestMs = Math.max(oldestMs, part.staleness_max_ms)
    if (part.violations.length > 0) {
      const [{ page, revision, sent_ms: sentMs }] = part.violations
      process.stdout.write(`seed ${next}: ${part.violations.length} of ${part.reads} reads are older than the bound, ` +
        `the first at ${sentMs.toFixed(3)} ms, of ${page} revision ${revision}; see it with\n` +
        `  stevec simulate --seed ${next} --reads ${part.reads} --trace\n`)
      return EXIT.violated
    }
    if (reads > READS_OF_A_SEED) process.stderr.write(`\r${sums.reads} reads, seed ${next} `)
  }
  if (reads > READS_OF_A_SEED) process.stderr.write('\n')
  const share = violatedShareMax(sums.reads)
  process.stdout.write(`${sums.reads} reads, none older than ${plan.boundMs} ms: at most ${share.toExponential(1)} of such ` +
    `reads are, with 95 % confidence\n${sums.stale} were stale, by ${oldestMs.toFixed(0)} ms at most; ${sums.hits} HITs; ` +
    `${sums.saves} saves; ${sums.refused} refused, ${sums.lost} without an answer\n`)
  return EXIT.good
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
