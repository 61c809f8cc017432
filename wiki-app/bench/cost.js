// Measures the cost of a request against the number of pages and against their size: make bench-cost. `--help` says how
// long it takes.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '@stevec/harness/config'
import { claimMachine } from '@stevec/harness/machine-lock'
import { MongoClient } from 'mongodb'
import { viewUrl } from '../src/pages/name.js'
import { fillWiki, nameOf, textOf } from './fill.js'
import { load, shuffled } from './load.js'
import { describeMachine } from './machine.js'
import { createServers } from './servers.js'

const HELP = `Usage: node wiki-app/bench/cost.js [options]

Measures the processor time that a request takes, of the wiki and of mongod, against the number of pages (100 … 10 000, a view, a list,
a search and a save) and against their size (1 kB … 1 MB, a view, a 304 and a save). The unit is the trial: a wiki freshly started,
warmed up, and loaded for some seconds; all points once in a random order, then all again. About eight minutes.

  --pages-max N   the largest wiki: 100, 1000, 10000 (default), 100000 or 1000000 pages; the full form, with the last, stores some
                  10 GB of documents first, ten minutes on two cores
  --trials N      of each point (default 5)
  --output FILE   (default results/bench/cost.csv; written after each trial, and begun anew each time)

Examples:
  make bench-cost
  node wiki-app/bench/cost.js --pages-max 1000000 --trials 8
  .venv/bin/python analysis/bench/cost.py results/bench/cost.csv --output cost.svg     # draws it
`
const PAGES = [100, 1_000, 10_000, 100_000, 1_000_000]
const SIZES = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
/** Pages of each size; enough that they are not one hot document. */
const PAGES_OF_A_SIZE = 10
const TRIALS_MAX = 100
const WARM_UP_S = 1.5
const READS_S = 2
/** Each connection requests so many random pages in turn, so that the load is not on one small part of a large wiki. */
const DRAWN = 2_000
const SAVED_BYTES = 2_000_000
const COLUMNS = [
  'axis',
  'value',
  'trial',
  'operation',
  'connections',
  'requests',
  'rate_per_s',
  'wiki_cpu_us',
  'mongod_cpu_us',
  'generator_cpu_share'
]
const PARAGRAPH = `A paragraph with [a link](https://example.org/) and *an emphasis*.${' Lorem ipsum dolor sit amet, consectetur adipiscing elit.'.repeat(8)}\n\n`

/** @typedef {import('./load.js').Request} Request */
/**
 * @typedef {object} Operation
 * @property {string} name
 * @property {() => Request} request  drawn at random
 * @property {number} connections
 * @property {number} [expected]
 * @property {number} [amount]  of requests; without it, it runs for READS_S
 */
/**
 * @typedef {object} Point
 * @property {'pages' | 'bytes'} axis
 * @property {number} value
 * @property {string} uri  of its database
 * @property {(url: string) => Promise<void>} fill  writes the pages; `url` is that of a wiki on the database
 * @property {(url: string) => Promise<Operation[]>} operations  the first also warms up the wiki
 */

const whole = (/** @type {number} */ below) => Math.floor(Math.random() * below)
const sizedText = (/** @type {number} */ bytes) =>
  PARAGRAPH.repeat(Math.ceil(bytes / PARAGRAPH.length)).slice(0, bytes - 8) + String(whole(1e8)).padStart(8, '0')
/** @param {string} url @param {string} body @returns {Request} */
const save = (url, body) => ({ method: 'POST', path: url, headers: { 'content-type': 'text/markdown' }, body })
const savesOf = (/** @type {number} */ bytes) => Math.min(200, Math.max(5, Math.round(SAVED_BYTES / bytes)))
const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** @param {number} pages @param {string} uri @returns {Point} */
function pagesPoint (pages, uri) {
  return {
    axis: 'pages',
    value: pages,
    uri,
    fill: () => fillWiki(uri, {
      pages,
      revisions: 1,
      onProgress: (done) => { if (done % 50_000 === 0) note(`  ${done} of ${pages}`) }
    }),
    operations: async () => [
      { name: 'view', connections: 16, request: () => ({ path: viewUrl(nameOf(whole(pages))) }) },
      {
        name: 'list',
        connections: 1,
        request: () => ({ path: `/?${new URLSearchParams({ after: nameOf(whole(pages)) })}` })
      },
      { name: 'search', connections: 1, request: () => ({ path: `/search?q=unique${whole(pages)}` }) },
      {
        name: 'save',
        connections: 1,
        amount: 200,
        request: () => {
          const page = whole(pages); return save(viewUrl(nameOf(page)), `${textOf(page)}\n${whole(1e8)}\n`)
        }
      }
    ]
  }
}

/** @param {number} bytes @param {string} uri @returns {Point} */
function sizePoint (bytes, uri) {
  const urls = Array.from({ length: PAGES_OF_A_SIZE }, (_, page) => `/wiki/page-${page}`)
  return {
    axis: 'bytes',
    value: bytes,
    uri,
    async fill (url) {
      for (const page of urls) {
        const { ok, status } = await fetch(url + page, {
          method: 'POST',
          headers: { 'content-type': 'text/markdown' },
          body: sizedText(bytes)
        })
        if (!ok) throw new Error(`a page of ${bytes} bytes was answered ${status}`)
      }
    },
    async operations (url) {
      const etags = await Promise.all(urls.map(async (page) => {
        const answer = await fetch(url + page)
        await answer.arrayBuffer()
        return String(answer.headers.get('etag'))
      }))
      return [
        { name: 'view', connections: 16, request: () => ({ path: urls[whole(urls.length)] }) },
        {
          name: 'not modified',
          connections: 16,
          expected: 304,
          request: () => {
            const page = whole(urls.length); return { path: urls[page], headers: { 'if-none-match': etags[page] } }
          }
        },
        {
          name: 'save',
          connections: 1,
          amount: savesOf(bytes),
          request: () => save(urls[whole(urls.length)], sizedText(bytes))
        }
      ]
    }
  }
}

/**
 * @param {ReturnType<typeof createServers>} servers
 * @param {number} mongodPid
 * @param {Point} point
 * @param {number} trial
 * @returns {Promise<Record<string, string | number>[]>} a row for each operation
 */
async function runTrial (servers, mongodPid, point, trial) {
  const wiki = await servers.wiki(point.uri)
  try {
    const operations = await point.operations(wiki.url)
    const rows = []
    const draw = (/** @type {Operation} */ { request, amount = DRAWN }) => () => Array.from({ length: amount }, request)
    await load({
      url: wiki.url,
      connections: operations[0].connections,
      requests: draw(operations[0]),
      duration_s: WARM_UP_S
    })
    for (const operation of operations) {
      const { name, connections, expected, amount } = operation
      const { requests, rate_per_s: rate, cpu_us: [wikiUs, mongodUs], generator_cpu_share: generator } = await load({
        url: wiki.url,
        connections,
        requests: draw(operation),
        expected,
        amount,
        duration_s: READS_S,
        pids: [wiki.pid, mongodPid]
      })
      rows.push({
        axis: point.axis,
        value: point.value,
        trial,
        operation: name,
        connections,
        requests,
        rate_per_s: rate.toFixed(2),
        wiki_cpu_us: wikiUs.toFixed(1),
        mongod_cpu_us: mongodUs.toFixed(1),
        generator_cpu_share: generator.toFixed(3)
      })
    }
    return rows
  } finally {
    await wiki.stop()
  }
}

/**
 * @param {{pages: number[], trials: number, output: string}} options
 */
async function main ({ pages, trials, output }) {
  await claimMachine()
  mkdirSync(path.dirname(output), { recursive: true })
  const machine = describeMachine()
  writeFileSync(output, `# ${machine}\n${COLUMNS.join(',')}\n`)
  note(machine)
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    const points = [
      ...pages.map((count) => pagesPoint(count, mongod.uriFor(`pages_${count}`))),
      ...SIZES.map((bytes) => sizePoint(bytes, mongod.uriFor(`bytes_${bytes}`)))
    ]
    /** @type {Point[]} */
    const filled = []
    for (const point of points) {
      note(`filling a wiki: ${point.axis} ${point.value} …`)
      const filler = point.axis === 'bytes' ? await servers.wiki(point.uri) : null
      try {
        await point.fill(filler?.url ?? '')
        filled.push(point)
      } catch (error) {
        // A slow machine may not render the largest pages within the wiki's time limit; the others are still measured.
        note(`left out: ${/** @type {Error} */ (error).message}`)
      } finally {
        await filler?.stop()
      }
    }
    await settle(mongod.uri)
    for (let trial = 1; trial <= trials; trial++) {
      for (const point of shuffled(filled)) {
        const rows = await runTrial(servers, mongod.pid, point, trial).catch((error) => {
          // Reported and left out: one response that took too long must not lose all other measurements.
          note(`trial ${trial} of ${trials}, ${point.axis} ${point.value} failed: ${error.message}`)
          process.exitCode = 1
          return null
        })
        if (rows === null) continue
        appendFileSync(output, rows.map((row) => `${COLUMNS.map((column) => row[column]).join(',')}\n`).join(''))
        note(`trial ${trial} of ${trials}, ${point.axis} ${point.value}: ${rows.map(({ operation, wiki_cpu_us: wiki, mongod_cpu_us: mongod }) => `${operation} ${wiki} + ${mongod} µs`).join(', ')}`)
      }
    }
  } finally {
    await servers.stopAll()
  }
  console.log(`written: ${path.relative(process.cwd(), output)}; to draw it: .venv/bin/python analysis/bench/cost.py ${path.relative(process.cwd(), output)} --output cost.svg`)
}

/** Lets mongod write the filled data to disk, so that no trial pays for it. @param {string} uri */
async function settle (uri) {
  const client = await MongoClient.connect(uri)
  await client.db('admin').command({ fsync: 1 })
  await client.close()
}

const { values } = parseArgs({
  options: {
    'pages-max': { type: 'string', default: '10000' },
    trials: { type: 'string', default: '5' },
    output: { type: 'string' },
    help: { type: 'boolean', short: 'h' }
  }
})
const [pagesMax, trials] = [Number(values['pages-max']), Number(values.trials)]
const refuse = (/** @type {string} */ text) => {
  process.stderr.write(`${text}\n`)
  process.exitCode = 2
}
if (values.help) process.stdout.write(HELP)
else if (!PAGES.includes(pagesMax)) {
  refuse(`--pages-max must be one of ${PAGES.join(', ')}, not "${values['pages-max']}"`)
} else if (!Number.isInteger(trials) || trials < 1 || trials > TRIALS_MAX) {
  refuse(`--trials must be a whole number from 1 to ${TRIALS_MAX}, not "${values.trials}"`)
} else {
  await main({ pages: PAGES.filter((pages) => pages <= pagesMax), trials, output: path.resolve(values.output ?? path.join(readConfig().resultsDirectory, 'bench/cost.csv')) })
}
