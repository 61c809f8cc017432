// Compares the edge with stock proxy_cache on many keys: node nginx/bench/keys.js. `--help` says what exactly.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { draw, fill } from './key-set.js'
import { startOtherCaches } from './other-caches.js'
import { startPair } from './pair.js'
import { loadWithWrk } from './wrk-load.js'
import { cpuSeconds, processesOf, proportionalMiB, workersOf } from './worker.js'

const KEYS_MAX = 100_000
const ROUNDS_MAX = 30
/** Of each cache. */
const MAX_SIZE_BYTES = 2 * 1024 ** 3
const WORKERS_MAX = 16
const PURGES_PER_S = 20
/** Words, as in a page. */
const SMALL = Array.from({ length: 5_000 / 8 }, (_, at) => Math.imul(at, 2654435761).toString(36).slice(-7).padEnd(8))
  .join('')
const LARGE = Buffer.alloc(1_000_000, 'x')
const CODINGS = ['br', 'gzip', 'identity']

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} what
 * @property {number} keys
 * @property {string[]} fill  requests that store what is asked for
 * @property {() => string[]} lines  of the load, see wrk-load.js
 * @property {number} [purges_per_s]  of random keys of the edge; stock has no purge, and gets none
 */

/** @param {number} keys @returns {Case[]} */
function casesOf (keys) {
  const [few, fewer] = [Math.ceil(keys / 10), Math.ceil(keys / 1_000)]
  const all = (/** @type {number} */ count, /** @type {(key: number) => string[]} */ linesOf) =>
    Array.from({ length: count }, (_, key) => linesOf(key)).flat()
  const get = (/** @type {number} */ key) => `GET /key/${key} HTTP/1.1`
  const coded = (/** @type {number} */ key, /** @type {string} */ coding) =>
    `GET /vary/${key} HTTP/1.1|Accept-Encoding: ${coding}`
  const small = { keys, fill: all(keys, (key) => [get(key)]) }
  return [
    { name: 'zipf-1.0', what: '5 kB, Zipf with s = 1.0', ...small, lines: () => draw(keys, 1).map(get) },
    { name: 'zipf-0.8', what: '5 kB, Zipf with s = 0.8', ...small, lines: () => draw(keys, 0.8).map(get) },
    {
      name: 'misses',
      what: 'zipf-1.0, and one in ten is a URL that is not stored',
      ...small,
      lines: () => draw(keys, 1).map((key, at) => at % 10 === 0 ? 'GET /cold/{n} HTTP/1.1' : get(key))
    },
    {
      name: 'purges',
      what: `zipf-1.0, and ${PURGES_PER_S} purges of a URL each second (edge alone)`,
      ...small,
      lines: () => draw(keys, 1).map(get),
      purges_per_s: PURGES_PER_S
    },
    {
      name: 'vary',
      what: '5 kB, Zipf with s = 1.0, three variants by Accept-Encoding',
      keys: few,
      fill: all(few, (key) => CODINGS.map((coding) => coded(key, coding))),
      lines: () => draw(few, 1).map((key, at) => coded(key, CODINGS[at % CODINGS.length]))
    },
    {
      name: 'gzip',
      what: '5 kB, Zipf with s = 1.0, to clients that take gzip: stock compresses each response anew',
      keys: few,
      fill: all(few, (key) => [`GET /few/${key} HTTP/1.1`]),
      lines: () => draw(few, 1).map((key) => `GET /few/${key} HTTP/1.1|Accept-Encoding: gzip`)
    },
    {
      name: 'large',
      what: '1 MB',
      keys: fewer,
      fill: all(fewer, (key) => [`GET /large/${key} HTTP/1.1`]),
      lines: () => draw(fewer, 1).map((key) => `GET /large/${key} HTTP/1.1`)
    }
  ]
}

const HELP = `Usage: node nginx/bench/keys.js [--keys N] [--rounds N] [--seconds N] [--workers N] [--only NAME]

The edge, with the settings of \`stevec edge\`, and nginx's proxy_cache, in turns, under the load of 16 connections of
wrk. The caches run on the first core, wrk on the second; the origin, which only misses reach, runs anywhere. Prints
processor time for a request, requests a second, and times, as medians over the rounds, and the processor time in
relation to that of the edge, with the least and the most of the rounds. Varnish (responses in memory, no log in a file)
and Traffic Server are measured, too, when Debian's packages have installed them.

${casesOf(1).map(({ name, what }) => `  ${name.padEnd(10)} ${what}`).join('\n')}

  --keys N      1000 to ${KEYS_MAX} (default ${KEYS_MAX}; variants: a tenth, 1 MB: a thousandth)
  --rounds N    1 to ${ROUNDS_MAX} (default 5)
  --workers N   of each, 1 (default) to ${WORKERS_MAX}, all on the first core
  --seconds N   of each measurement, 1 to 60 (default 4)
  --only NAME   one of these, may be repeated

Example:
  node nginx/bench/keys.js --keys 10000 --rounds 3 --only zipf-1.0
`

/** @type {import('node:http').RequestListener} */
function answer (request, response) {
  response.setHeader('Cache-Control', 'max-age=86400')
  const isText = !/^\/(vary|large)/.test(request.url ?? '')
  response.setHeader('Content-Type', isText ? 'text/html' : 'application/octet-stream')
  if (request.url?.startsWith('/vary')) {
    response.setHeader('Vary', 'Accept-Encoding').end(`${request.headers['accept-encoding']}${SMALL}`)
  } else {
    response.end(request.url?.startsWith('/large') ? LARGE : SMALL)
  }
}

let unique = 0

/**
 * @typedef {import('./other-caches.js').Cache & {logFile?: string, purge?: (body: object) => Promise<void>}} Measured
 */

/**
 * @param {Measured} cache @param {Case} each @param {string[]} lines
 * @param {{directory: string, seconds: number}} options
 */
async function measure (cache, { keys, purges_per_s: purgesPerS = 0 }, lines, { directory, seconds }) {
  const { port, pids, logFile, purge } = cache
  const measured = pids()
  const usedSeconds = () => measured.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  // A log of a few GB is no part of the comparison.
  if (logFile) truncateSync(logFile)
  /** @type {unknown[]} */
  const failures = []
  const purging = purge && purgesPerS > 0 && setInterval(() => {
    const url = `http://127.0.0.1:${port}/key/${Math.floor(Math.random() * keys)}`
    purge({ files: [url] }).catch((error) => failures.push(error))
  }, 1_000 / purgesPerS)
  const before = usedSeconds()
  unique += 10_000_000
  const load = await loadWithWrk({ directory, port, lines, duration_s: seconds, unique })
    .finally(() => { if (purging) clearInterval(purging) })
  if (failures.length > 0) throw failures[0]
  return { ...load, cpu_us: (usedSeconds() - before) / load.requests * 1e6 }
}

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** @param {number[]} values  one for each round */
const withRange = (values) =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} … ${Math.max(...values).toFixed(2)})`

/**
 * @param {Measured[]} caches  the edge is the last
 * @param {Case} each @param {{directory: string, rounds: number, seconds: number}} options
 */
async function compare (caches, each, { directory, rounds, seconds }) {
  const lines = each.lines()
  /** @type {Map<Measured, Awaited<ReturnType<typeof measure>>[]>} */
  const found = new Map(caches.map((cache) => [cache, []]))
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const cache of round % 2 === 0 ? caches : [...caches].reverse()) {
      const measured = await measure(cache, each, lines, { directory, seconds })
      if (round > 0) found.get(cache)?.push(measured)
    }
  }
  const ofEdge = found.get(caches[caches.length - 1]) ?? []
  for (const [{ name }, all] of found) {
    const [us, rate, p50, p99] = /** @type {const} */ (['cpu_us', 'rate_per_s', 'p50_ms', 'p99_ms'])
      .map((key) => median(all.map((one) => one[key])))
    const ratio = all === ofEdge ? '' : withRange(all.map((one, round) => one.cpu_us / ofEdge[round].cpu_us))
    console.log(`| ${each.name} | ${name} | ${us.toFixed(1)} | ${rate.toFixed(0)} | ${p50.toFixed(2)} | ${
      p99.toFixed(2)} | ${ratio} |`)
  }
}

/** @param {Measured} cache @param {number} count  of stored responses */
function reportSize ({ name, pids, folder }, count) {
  const memoryMiB = pids().reduce((sum, pid) => sum + proportionalMiB(pid), 0)
  const disk = execFileSync('du', ['--summarize', '--block-size=1M', folder], { encoding: 'utf8' })
  process.stderr.write(`${name}: ${count} responses, ${memoryMiB.toFixed(0)} MiB of memory, ${parseInt(disk)} MiB on disk\n`)
}

/** @param {{keys: number, rounds: number, seconds: number, workers: number, only?: string[]}} options */
async function main ({ keys, rounds, seconds, workers, only }) {
  await claimMachine()
  if (availableParallelism() < 2) process.stderr.write('one core alone: load and caches share it\n')
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-keys-'))
  const stops = [async () => rmSync(directory, { recursive: true, force: true })]
  try {
    const pair = await startPair({ directory, answer, workers, maxSizeBytes: MAX_SIZE_BYTES })
    stops.unshift(pair.stop)
    const { originPort } = pair
    const others = await startOtherCaches({ directory, originPort, maxSizeBytes: MAX_SIZE_BYTES, workers })
    stops.unshift(others.stop)
    const [stock, edge] = /** @type {const} */ (['stock', 'edge']).map((name) => (
      { name, ...pair[name], pids: () => workersOf(pair[name].pid), folder: path.join(directory, name) }
    ))
    const caches = [stock, ...others.caches, edge]
    for (const pid of [pair.stock.pid, pair.edge.pid, ...others.caches.flatMap(({ pids }) => pids())]) {
      for (const each of processesOf(pid)) {
        execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', '0', String(each)])
      }
    }
    const filled = new Set()
    console.log('| case | cache | workers, µs | requests/s | p50, ms | p99, ms | its µs ÷ those of the edge |')
    console.log('|---|---|---|---|---|---|---|')
    for (const each of casesOf(keys).filter(({ name }) => only?.includes(name) ?? true)) {
      if (!filled.has(each.fill.join())) {
        process.stderr.write(`${each.name}: storing ${each.fill.length} responses in each …\n`)
        for (const cache of caches) {
          await fill(cache.port, each.fill)
          reportSize(cache, each.fill.length)
        }
        filled.add(each.fill.join())
      }
      await compare(caches, each, { directory, rounds, seconds })
    }
  } finally {
    for (const stop of stops) await stop()
  }
}

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: String(KEYS_MAX) },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    workers: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true },
    help: { type: 'boolean', short: 'h' }
  }
})
const [keys, rounds, seconds, workers] = [values.keys, values.rounds, values.seconds, values.workers].map(Number)
const within = (/** @type {number} */ value, /** @type {number} */ least, /** @type {number} */ most) =>
  Number.isInteger(value) && value >= least && value <= most
const names = casesOf(1).map(({ name }) => name)
if (values.help) {
  process.stdout.write(HELP)
} else if (!within(keys, 1_000, KEYS_MAX) || !within(rounds, 1, ROUNDS_MAX) || !within(seconds, 1, 60) ||
  !within(workers, 1, WORKERS_MAX) || values.only?.some((name) => !names.includes(name))) {
  process.stderr.write('--keys, --rounds, --seconds, --workers or --only is not as --help says; ' +
    `cases: ${names.join(', ')}\n`)
  process.exitCode = 2
} else {
  await main({ keys, rounds, seconds, workers, only: values.only })
}
