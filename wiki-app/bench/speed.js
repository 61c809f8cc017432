// Measures the wiki's speed, processor time and memory: make bench. `--help` says what exactly.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { openBareDriver } from './bare-driver.js'
import { load } from './load.js'
import { describeMachine } from './machine.js'
import { residentMb } from './process.js'
import { median, ROUNDS_MAX } from './ratio.js'
import { createServers, UNWATCHED } from './servers.js'
import { compareSaving, measureSaving } from './saving.js'
import { openTree } from './tree.js'
import { compare, measureInTurns } from './turns.js'
import { fillPages, knownOf, readPages, saves, TEXTS, VIEWS } from './workload.js'
import { loadWithWrk } from './wrk.js'

const SECONDS_MAX = 60
const HELP = `Usage: make bench
       make bench AGAINST=<git ref>
       node wiki-app/bench/speed.js [--against REF] [--only saving] [--rounds N] [--seconds N]

The wiki as production has it: metrics and request logs on, all limits in force.

Alone: its speed as ratios to a bare server and the bare driver in the same minute of the same machine, processor time,
memory, start, and what metrics and request logs cost. With AGAINST: processor time of a request in this tree, as a
ratio to another's, both without metrics and request logs, and what these cost here. Both trees are measured in turns,
started anew in each round; the other one is a git worktree in a temporary folder, which is removed at the end.

Then saves a second over HTTP: each by itself (sync) and those that wait committed together (group-commit), of 1, 16 and
100 writers of whole new texts, and small edits of long pages; with AGAINST also the other tree's.

  --against REF   a commit, tag or branch
  --only saving   only the saves over HTTP
  --rounds N      of the comparison in turns, 2 to ${ROUNDS_MAX} (default 8)
  --seconds N     of each of its measurements, 1 to ${SECONDS_MAX} (default 5)
`
/** Rounds of the comparison with a bare server. */
const BARE_ROUNDS = 5
const STARTS = 5
/** Numbers of requests after which memory is measured; the first requests also warm up the wiki. */
const MEMORY_AFTER_REQUESTS = [1_000, 10_000, 100_000]
const [WATCHED_NAME, UNWATCHED_NAME, OTHER_NAME] = ['on', 'off', 'other']
const GENERATOR_LIMIT = 0.9

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** @typedef {ReturnType<typeof createServers>} Servers */
/** @typedef {Awaited<ReturnType<Servers['mongod']>>} Mongod */

/**
 * @param {Servers} servers
 * @param {Mongod} mongod
 * @param {import('./tree.js').Tree | undefined} other
 * @param {{rounds: number, seconds: number}} options
 * @returns {Promise<Record<string, Record<string, number>>>} ratios, for other programs
 */
async function inTurns (servers, mongod, other, { rounds, seconds }) {
  /**
   * @type {(name: string, database: string, settings?: NodeJS.ProcessEnv, tree?: import('./tree.js').Tree) =>
   *   import('./turns.js').Variant}
   */
  const variant = (name, database, settings, tree) =>
    ({ name, start: (more) => servers.wiki(mongod.uriFor(database), { ...settings, ...more }, [], tree) })
  const variants = [
    variant(WATCHED_NAME, 'this'),
    variant(UNWATCHED_NAME, 'this', UNWATCHED),
    // Its own database, as it may store other data.
    ...other ? [variant(OTHER_NAME, 'other', UNWATCHED, other)] : []
  ]
  for (const { start } of variants.slice(1)) {
    const filler = await start()
    await fillPages(filler.url)
    await filler.stop()
  }
  note(`in turns: ${variants.map(({ name }) => name).join(', ')} …`)
  const turns = await measureInTurns({ directory: servers.directory, variants, rounds, seconds, note })

  const watching = compare(turns, WATCHED_NAME, UNWATCHED_NAME)
  console.log('\nprocessor time a request (µs) and memory (MB), ' +
    `metrics and request logs on ÷ off\n${watching.text}`)
  if (!other) return { on_to_off: watching.ratios }
  const trees = compare(turns, UNWATCHED_NAME, OTHER_NAME)
  console.log(`\nprocessor time a request (µs) and memory (MB), this tree ÷ ${other.name}, ` +
    `both without metrics and request logs\n${trees.text}`)
  return { on_to_off: watching.ratios, off_to_other: trees.ratios }
}

/**
 * @param {Servers} servers
 * @param {Mongod} mongod
 * @returns {Promise<Record<string, number>>} ratios, for other programs
 */
async function againstBare (servers, mongod) {
  note(`filling a wiki with ${TEXTS.length} pages of 5 kB …`)
  const filler = await servers.wiki(mongod.uri)
  await fillPages(filler.url)
  const pages = await readPages(filler.url)
  await filler.stop()

  const startsMs = await readyTimes(servers, mongod)
  const wiki = await servers.wiki(mongod.uri)
  startsMs.push(wiki.ready_ms)
  const keeping = await servers.wiki(mongod.uri, { ORIGIN_CACHE_MIB: '64' })
  const bare = await servers.node(
    [fileURLToPath(new URL('bare.js', import.meta.url))],
    { SIZE_BYTES: String(median(pages.map(({ bytes }) => bytes))) }
  )

  const known = knownOf(pages)
  const at = (
    /** @type {import('./servers.js').Server} */ { url, pid },
    /** @type {number} */ connections,
    /** @type {{path: string, headers?: Record<string, string>}[]} */ requests,
    expected = 200
  ) => loadWithWrk({ directory: servers.directory, url, connections, requests, expected, pid })
  const save = (/** @type {number} */ connections) =>
    load({ url: wiki.url, connections, requests: saves, pids: [wiki.pid] })
  const bareDriver = await openBareDriver(mongod.uriFor('bare'), TEXTS)
  const driver = async (/** @type {number} */ concurrency) =>
    ({ requests: 0, refused: 0, rate_per_s: await bareDriver.saves(concurrency), cpu_us: [], generator_cpu_share: 0 })

  const residentMbs = await memoryOf(wiki)
  let wikiRequests = MEMORY_AFTER_REQUESTS[MEMORY_AFTER_REQUESTS.length - 1]

  /**
   * The base of each ratio, and the measurement that is compared with it, which follows immediately.
   * @type {Record<string, [() => Promise<import('./load.js').Load>, () => Promise<import('./load.js').Load>]>}
   */
  const measures = {
    view_c16: [() => at(bare, 16, VIEWS), () => at(wiki, 16, VIEWS)],
    view_c64: [() => at(bare, 64, VIEWS), () => at(wiki, 64, VIEWS)],
    not_modified_c16: [() => at(bare, 16, VIEWS), () => at(wiki, 16, known, 304)],
    origin_cache_c16: [() => at(bare, 16, VIEWS), () => at(keeping, 16, VIEWS)],
    save_c1: [() => driver(1), () => save(1)],
    save_c16: [() => driver(16), () => save(16)]
  }
  /** @type {Record<string, Round[]>} */
  const found = Object.fromEntries(Object.keys(measures).map((name) => [name, []]))
  note('warming up …')
  for (const run of measures.origin_cache_c16) await run()
  // Saves come last, as they change the validators.
  for (const group of [['view_c16', 'view_c64', 'not_modified_c16', 'origin_cache_c16'], ['save_c1', 'save_c16']]) {
    for (let round = 1; round <= BARE_ROUNDS; round++) {
      for (const name of group) {
        const [base, ours] = [await measures[name][0](), await measures[name][1]()]
        if (name !== 'origin_cache_c16') wikiRequests += ours.requests
        found[name].push({ ratio: ours.rate_per_s / base.rate_per_s, base, ours })
      }
      const ratios = group.map((name) => `${name} ${found[name][round - 1].ratio.toFixed(3)}`)
      note(`round ${round} of ${BARE_ROUNDS}: ${ratios.join(', ')}`)
    }
  }

  printRounds(found)
  console.log(`memory, MB: ${MEMORY_AFTER_REQUESTS.map((requests, index) => `${residentMbs[index].toFixed(0)} after ${requests} views`).join(', ')}; ${residentMb(wiki.pid).toFixed(0)} after ${wikiRequests} requests, saves among them`)
  console.log(`start to ready, ms (${STARTS} starts): median ${median(startsMs).toFixed(0)}, least ${Math.min(...startsMs).toFixed(0)}, most ${Math.max(...startsMs).toFixed(0)}`)
  await bareDriver.close()
  for (const server of [wiki, keeping, bare]) await server.stop()
  return Object.fromEntries(Object.entries(found).map(([name, rounds]) =>
    [name, Number(median(rounds.map(({ ratio }) => ratio)).toFixed(3))]))
}

/**
 * @param {import('./servers.js').Server} wiki
 * @returns {Promise<number[]>} MB after each number of views
 */
async function memoryOf (wiki) {
  note(`memory after ${MEMORY_AFTER_REQUESTS.join(', ')} views …`)
  /** @type {number[]} */
  const residentMbs = []
  let done = 0
  for (const requests of MEMORY_AFTER_REQUESTS) {
    await load({ url: wiki.url, connections: 16, requests: VIEWS, amount: requests - done })
    done = requests
    residentMbs.push(residentMb(wiki.pid))
  }
  return residentMbs
}

/**
 * @param {Servers} servers
 * @param {Mongod} mongod
 * @returns {Promise<number[]>} ms from start to ready, for all starts but one
 */
async function readyTimes (servers, mongod) {
  note(`starting it ${STARTS} times …`)
  /** @type {number[]} */
  const startsMs = []
  for (let count = 1; count < STARTS; count++) {
    const { ready_ms: readyMs, stop } = await servers.wiki(mongod.uri)
    startsMs.push(readyMs)
    await stop()
  }
  return startsMs
}

/** @typedef {{ratio: number, base: import('./load.js').Load, ours: import('./load.js').Load}} Round */

/** @param {Record<string, Round[]>} found */
function printRounds (found) {
  console.log('what              ratio (median, least … most)   per second   bare per second   ' +
    'CPU µs   bare CPU µs   generator')
  for (const [name, rounds] of Object.entries(found)) {
    const ratios = rounds.map(({ ratio }) => ratio)
    const generator = Math.max(
      ...rounds.flatMap(({ base, ours }) => [base.generator_cpu_share, ours.generator_cpu_share])
    )
    const cpu = (/** @type {'base' | 'ours'} */ whose) =>
      rounds[0][whose].cpu_us.length === 0
        ? ''
        : median(rounds.map((round) => round[whose].cpu_us[0])).toFixed(0)
    console.log(`${name.padEnd(18)}${median(ratios).toFixed(3)}  ${Math.min(...ratios).toFixed(3)} … ${Math.max(...ratios).toFixed(3)}`.padEnd(49) +
      `${median(rounds.map(({ ours }) => ours.rate_per_s)).toFixed(0).padStart(10)}${median(rounds.map(({ base }) => base.rate_per_s)).toFixed(0).padStart(18)}${cpu('ours').padStart(9)}${cpu('base').padStart(14)}   ${(100 * generator).toFixed(0)} % of a core${generator > GENERATOR_LIMIT ? ' (limited by it)' : ''}`)
  }
}

/** @param {{against?: string, only?: 'saving', rounds: number, seconds: number}} options */
async function main (options) {
  await claimMachine()
  const servers = createServers()
  try {
    // Opened first, as the ref may not exist.
    const other = options.against === undefined
      ? undefined
      : await openTree(options.against, `${servers.directory}/tree`, servers.atEnd)
    console.log(describeMachine())
    const mongod = await servers.mongod()
    const { only, rounds } = options
    const bare = other || only ? {} : await againstBare(servers, mongod)
    const turns = only ? {} : await inTurns(servers, mongod, other, options)
    const saving = compareSaving(await measureSaving({ servers, mongod, other, rounds, note }), other?.name)
    console.log(`\nsaves over HTTP; processor time of a save with what comes after it\n${saving.text}`)
    console.log(JSON.stringify({ ...bare, ...turns, saving: saving.ratios }))
  } catch (error) {
    note(`bench: ${/** @type {Error} */ (error).message}`)
    process.exitCode = 1
  } finally {
    await servers.stopAll()
  }
}

/** @param {string} text @param {number} least @param {number} most */
const isWhole = (text, least, most) => /^\d{1,4}$/.test(text) && Number(text) >= least && Number(text) <= most

/** @param {string} text */
function refuse (text) {
  note(`bench: ${text}; see node wiki-app/bench/speed.js --help`)
  process.exitCode = 2
}

/**
 * @returns {{against?: string, rounds: string, seconds: string, only?: string, help?: boolean} | undefined} undefined:
 *   refused
 */
function readOptions () {
  try {
    return parseArgs({
      options: {
        against: { type: 'string' },
        rounds: { type: 'string', default: '8' },
        seconds: { type: 'string', default: '5' },
        only: { type: 'string' },
        help: { type: 'boolean', short: 'h' }
      }
    }).values
  } catch (error) {
    refuse(/** @type {Error} */ (error).message)
  }
}

const values = readOptions()
if (values?.help) process.stdout.write(HELP)
else if (values && !isWhole(values.rounds, 2, ROUNDS_MAX)) {
  refuse(`--rounds must be a whole number from 2 to ${ROUNDS_MAX}, not "${values.rounds}"`)
} else if (values && !isWhole(values.seconds, 1, SECONDS_MAX)) {
  refuse(`--seconds must be a whole number from 1 to ${SECONDS_MAX}, not "${values.seconds}"`)
} else if (values?.only !== undefined && values.only !== 'saving') {
  refuse(`--only must be saving, not "${values.only}"`)
} else if (values) {
  const { against, only, rounds, seconds } = values
  await main({ against, only, rounds: Number(rounds), seconds: Number(seconds) })
}
