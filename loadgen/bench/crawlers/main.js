// Measures what people notice of a sweep of crawlers: make bench-crawlers. `--help` says what exactly.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { requireTool } from '@stevec/harness/tools/locate'
import { meanOf, pairedRatio } from '@stevec/wiki-app/bench/ratio'
import { addressesOf, lengthOfSweep } from '../../scenarios/crawl-addresses.js'
import { measureCapacity } from '../../src/lab/crawl-capacity.js'
import { startMediawiki } from './mediawiki.js'
import { ask } from './requests.js'
import { startStevec } from './stevec.js'

/** @import {Size} from '../../scenarios/crawl-addresses.js' */

const SCRIPT = fileURLToPath(new URL('load.k6.js', import.meta.url))
const CLIENTS = '127.1.0.1-127.1.39.16'
const CLIENTS_COUNT = 10_000
const EDITS_PER_S = 0.5
const TIMES_CAPACITY = 10
/** Than people visit, who begin after them. */
const CRAWLS_LONGER_S = 5
const RECOVERED_MAX_S = 300
const QUICK_MS = 1_000
const OUTPUT_MAX_BYTES = 10_000_000
const HELP = `Usage: node loadgen/bench/crawlers/main.js [options]

A wiki, its database and its web server share a part of a core. People view pages, chosen by Zipf's
law, and 5 editors save a page every two seconds. Rounds without and with crawlers take turns.
Crawlers ask ${TIMES_CAPACITY} times as often as the wiki can show what they ask for, from ${CLIENTS_COUNT} addresses
of 127.0.0.0/8, for differences, old revisions and histories, for each once.

Prints a line for each part of a round, and how many times as long people wait beside crawlers.

  --wiki NAME      stevec (default) or mediawiki, which has to be installed
  --door NAME      of stevec, through which all ask: cached (default), an edge that edits purge, or
                   source, the wiki's own nginx
  --share F        of a core (default 0.25)
  --views F        a second (default 25: 50 readers, each a page every two seconds)
  --pages N        10 to 10000 (default 1000)
  --revisions N    of each page, 3 to 50 (default 15)
  --rounds N       2 to 31 (default 5)
  --seconds N      of each part of a round, 5 to 600 (default 60)

Examples:
  make bench-crawlers
  node loadgen/bench/crawlers/main.js --pages 200 --rounds 2 --seconds 20
  node loadgen/bench/crawlers/main.js --wiki mediawiki --pages 200 --share 0.5 --views 5
  node loadgen/bench/crawlers/main.js --door source --pages 200 --share 0.5 --views 5
`
const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/**
 * @typedef {Size & {share: number, views: number, rounds: number, seconds: number}} Options
 * @typedef {{wiki: string, door: 'cached' | 'source'}} Choice
 * @typedef {import('./stevec.js').Subject} Subject
 */

/**
 * Waits until a view is answered quickly again: what crawlers have left waiting would count against the next part.
 * @param {string} url  of a page
 * @returns {Promise<number>} seconds, at most RECOVERED_MAX_S
 */
async function recovered (url) {
  const startedAt = performance.now()
  const elapsedS = () => (performance.now() - startedAt) / 1_000
  while (elapsedS() < RECOVERED_MAX_S) {
    const quick = await ask(url, { signal: AbortSignal.timeout(QUICK_MS) }).then(() => true, () => false)
    if (quick) break
  }
  return elapsedS()
}

const interrupted = new AbortController()
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
}

/** @typedef {import('node:net').AddressInfo} AddressInfo */

/**
 * Starts crawlers, and then work beside them. k6 takes both cores for seconds until it has all of them, so the work
 * begins once their k6 says that they are there.
 * @template T
 * @param {(readyUrl: string) => Promise<any>} startCrawling @param {() => Promise<T>} work
 * @returns {Promise<{worked: T, crawls: any}>}
 */
async function besideCrawlers (startCrawling, work) {
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const crawling = startCrawling(`http://127.0.0.1:${/** @type {AddressInfo} */ (server.address()).port}/`)
  try {
    // A k6 that fails says so instead.
    await Promise.race([once(server, 'request'), crawling])
    const [worked, crawls] = await Promise.all([work(), crawling])
    return { worked, crawls }
  } finally {
    server.close()
  }
}

/** @param {Record<string, string | number>} variables @param {string[]} [flags] */
async function runK6 (variables, flags = []) {
  const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)]))
  const { stdout } = await promisify(execFile)(
    requireTool('k6').path,
    ['run', '--quiet', '--no-usage-report', '--log-format', 'raw', '--address', '', ...flags, SCRIPT],
    { env: { PATH: process.env.PATH, ...env }, maxBuffer: OUTPUT_MAX_BYTES, signal: interrupted.signal }
  )
  return JSON.parse(stdout)
}

/** @param {number} round @param {any} people @param {any} [crawls] */
function show (round, people, crawls) {
  const ms = (/** @type {any} */ { med_ms: median, p99_ms: p99 }) => `${median.toFixed(1)} / ${p99.toFixed(1)} ms`
  const crawled = crawls === undefined
    ? 'none'
    : `${crawls.served} / ${crawls.refused} / ${crawls.unanswered + crawls.other + crawls.not_sent}`
  const hits = `${(100 * people.hits / people.views).toFixed(2)} %`
  const cells = [round, crawled, people.views, ms(people.view), ms(people.edit), hits, people.failed + people.not_sent]
  console.log(`| ${cells.join(' | ')} |`)
}

/** @param {Subject} subject @param {Choice} choice @param {Options} options @param {number} capacity */
async function measure ({ origin, url, first }, { wiki }, options, capacity) {
  const { pages, revisions, rounds, seconds, views } = options
  const common = { WIKI: wiki, FIRST: first, URL: url, SECONDS: seconds, PAGES: pages, REVISIONS: revisions }
  const crawlsPerS = Math.ceil(TIMES_CAPACITY * capacity)
  const visit = (/** @type {number} */ seed) =>
    runK6({ ...common, ROLE: 'people', SEED: seed, VIEWS_PER_S: views, EDITS_PER_S })
  const crawlS = seconds + CRAWLS_LONGER_S
  const crawl = (/** @type {number} */ round) => (/** @type {string} */ readyUrl) => runK6({
    ...common,
    ...{ ROLE: 'crawlers', SECONDS: crawlS, CRAWLS_PER_S: crawlsPerS, FROM: (round - 1) * crawlsPerS * (crawlS + 1) },
    ...{ ADDRESSES: CLIENTS_COUNT, READY_URL: readyUrl }
  }, ['--local-ips', CLIENTS])
  note(`the wiki can show ${capacity.toFixed(0)} a second; crawlers ask for ${crawlsPerS} addresses a second, ${
    crawlsPerS * crawlS * rounds} of ${lengthOfSweep(options)} in all`)
  if (crawlsPerS * (crawlS + 1) * rounds > lengthOfSweep(options)) {
    note('some addresses come again: ask for more --pages')
  }
  note('warms the cache …')
  await visit(0)
  console.log('| round | crawls: shown / refused / else | views | a view: median / p99 | a save: median / p99 ' +
    '| hits | failed |')
  console.log('|---|---|---|---|---|---|---|')
  /** @type {{quiet: any, crawled: any}[]} */
  const pairs = []
  for (let round = 1; round <= rounds; round++) {
    const quiet = await visit(2 * round)
    show(round, quiet)
    const { worked: crawled, crawls } = await besideCrawlers(crawl(round), () => visit(2 * round + 1))
    show(round, crawled, crawls)
    pairs.push({ quiet, crawled })
    const waited = await recovered(origin + addressesOf(wiki, options, first).view(0))
    if (waited > 1) note(`a view takes less than a second again after ${waited.toFixed(0)} s`)
  }
  return pairs
}

/** @param {{quiet: any, crawled: any}[]} pairs */
function conclude (pairs) {
  const line = (/** @type {string} */ what, /** @type {(people: any) => number} */ of) => {
    const quiet = pairs.map((pair) => of(pair.quiet))
    const { ratio, low, high } = pairedRatio(pairs.map(({ crawled }) => of(crawled)), quiet)
    console.log(`${what}: ${meanOf(quiet).mean.toFixed(1)} ms alone, ${ratio.toFixed(2)} times that beside crawlers ` +
      `(95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`)
  }
  console.log()
  line('a view, median', ({ view }) => view.med_ms)
  line('a view, p99', ({ view }) => view.p99_ms)
  line('a save, median', ({ edit }) => edit.med_ms)
  line('a save, p99', ({ edit }) => edit.p99_ms)
  const sum = (/** @type {'quiet' | 'crawled'} */ part, /** @type {string} */ name) =>
    pairs.reduce((total, pair) => total + pair[part][name], 0)
  for (const part of /** @type {const} */ (['quiet', 'crawled'])) {
    const hits = (100 * sum(part, 'hits') / sum(part, 'views')).toFixed(2)
    const failed = sum(part, 'failed') + sum(part, 'not_sent')
    const all = sum(part, 'views') + sum(part, 'edits')
    const when = part === 'quiet' ? 'alone' : 'beside crawlers'
    console.log(`${when}: ${hits} % hits, ${failed} of ${all} requests of people failed`)
  }
}

/** @param {Choice} choice @param {Options} options */
async function main ({ wiki, door }, options) {
  await claimMachine()
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-crawlers-'))
  try {
    const subject = await (wiki === 'stevec' ? startStevec : startMediawiki)({ ...options, door, directory, note })
    try {
      note('measures how many of the addresses the wiki can show …')
      const capacity = await measureCapacity({
        ...{ url: subject.origin, addresses: addressesOf(wiki, options, subject.first), size: options },
        ...{ slow: subject.slow, signal: interrupted.signal }
      })
      conclude(await measure(subject, { wiki, door }, options, capacity))
    } finally {
      await subject.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  options: {
    wiki: { type: 'string', default: 'stevec' },
    door: { type: 'string', default: 'cached' },
    share: { type: 'string', default: '0.25' },
    views: { type: 'string', default: '25' },
    pages: { type: 'string', default: '1000' },
    revisions: { type: 'string', default: '15' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '60' },
    help: { type: 'boolean', short: 'h' }
  }
})
const { wiki, door, help, ...given } = values
const options = /** @type {Options} */ (
  Object.fromEntries(Object.entries(given).map(([name, text]) => [name, Number(text)]))
)
const whole = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) =>
  Number.isInteger(value) && value >= low && value <= high
const fits = options.share > 0 && options.share <= 2 && options.views > 0 && options.views <= 1_000 &&
  whole(options.pages, 10, 10_000) && whole(options.revisions, 3, 50) &&
  whole(options.rounds, 2, 31) && whole(options.seconds, 5, 600)
if (help) {
  process.stdout.write(HELP)
} else if (!fits || (wiki !== 'stevec' && wiki !== 'mediawiki') || (door !== 'cached' && door !== 'source')) {
  process.stderr.write('an option is not as --help says\n')
  process.exitCode = 2
} else {
  await main({ wiki, door }, options)
}
