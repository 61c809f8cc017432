// How fast the wiki is, as ratios to what a bare server and the bare driver reach in the same minute of the same machine: make bench
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startMongod } from '../../loadgen/src/stack/mongod.js'
import { freePorts } from '../../loadgen/src/stack/ports.js'
import { driverSaves } from './driver-saves.js'
import { DURATION_S, load } from './load.js'

const ROUNDS = 5
const PAGES = 1_000
/** Of 5 kB as the experiments' pages are. */
const TEXT = 'Lorem ipsum dolor sit amet, [a link](https://example.org/) and *more* text. '.repeat(66)
const GENERATOR_LIMIT = 0.9

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)
const path = (/** @type {number} */ page) => `/wiki/page-${page}`
const nameOf = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url))
const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** @type {import('node:child_process').ChildProcess[]} */
const children = []
/**
 * @param {string} file
 * @param {Record<string, string>} environment
 */
async function start (file, environment) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [nameOf(file)], { env: { ...process.env, NODE_ENV: 'production', ...environment }, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data')
  return { child, startedInMs: performance.now() - startedAt }
}

/** @param {string} url */
async function fillPages (url) {
  let next = 0
  /** @type {{etag: string, bytes: number}[]} */
  const pages = []
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < PAGES) {
      const page = next++
      const saved = await fetch(url + path(page), { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: `${TEXT}${page}` })
      if (!saved.ok) throw new Error(`${path(page)} was refused: ${await saved.text()}`)
      const answer = await fetch(url + path(page))
      pages[page] = { etag: String(answer.headers.get('etag')), bytes: (await answer.arrayBuffer()).byteLength }
    }
  }))
  return pages
}

const mongod = await startMongod()
try {
  const [wikiPort, keepingPort, barePort] = await freePorts(3)
  const environment = { HOST: '127.0.0.1', MONGODB_URI: mongod.uri, LOG_LEVEL: 'warn', WRITES_PER_MINUTE: '0' }
  note(`starting a wiki with ${PAGES} pages of 5 kB, one that keeps pages in memory, and a bare server …`)
  const wiki = await start('../src/server.js', { ...environment, PORT: String(wikiPort) })
  const wikiUrl = `http://127.0.0.1:${wikiPort}`
  const pages = await fillPages(wikiUrl)
  await start('../src/server.js', { ...environment, PORT: String(keepingPort), ORIGIN_CACHE_MIB: '64' })
  await start('./bare.js', { PORT: String(barePort), SIZE_BYTES: String(median(pages.map(({ bytes }) => bytes))) })

  const views = pages.map((_, page) => ({ path: path(page) }))
  const known = pages.map(({ etag }, page) => ({ path: path(page), headers: { 'if-none-match': etag } }))
  const saves = pages.map((_, page) => ({ method: /** @type {const} */ ('POST'), path: path(page), headers: { 'content-type': 'text/markdown' }, body: TEXT }))
  const at = (/** @type {number} */ port, /** @type {number} */ connections, /** @type {{path: string}[]} */ requests, expected = 200) =>
    load({ url: `http://127.0.0.1:${port}`, connections, requests, expected })
  const driver = async (/** @type {number} */ concurrency) =>
    ({ rate_per_s: await driverSaves(mongod.uriFor('bare'), { concurrency, content: TEXT, html: Buffer.alloc(6_000, 'x') }), generator_cpu_share: 0 })

  let wikiRequests = 0
  /** Each with what it is a ratio to, measured right before it. @type {Record<string, [() => ReturnType<typeof load>, () => ReturnType<typeof load>]>} */
  const measures = {
    view_c16: [() => at(barePort, 16, views), () => at(wikiPort, 16, views)],
    view_c64: [() => at(barePort, 64, views), () => at(wikiPort, 64, views)],
    not_modified_c16: [() => at(barePort, 16, views), () => at(wikiPort, 16, known, 304)],
    origin_cache_c16: [() => at(barePort, 16, views), () => at(keepingPort, 16, views)],
    save_c1: [() => driver(1), () => at(wikiPort, 1, saves)],
    save_c16: [() => driver(16), () => at(wikiPort, 16, saves)]
  }
  // Last, as saves change the validators.
  /** @type {Record<string, {ratio: number, base: number, rate: number, generator: number}[]>} */
  const found = Object.fromEntries(Object.keys(measures).map((name) => [name, []]))
  note('warming up …')
  for (const name of ['view_c16', 'origin_cache_c16', 'not_modified_c16']) for (const run of measures[name]) await run()
  for (const group of [['view_c16', 'view_c64', 'not_modified_c16', 'origin_cache_c16'], ['save_c1', 'save_c16']]) {
    for (let round = 1; round <= ROUNDS; round++) {
      for (const name of group) {
        const [base, ours] = [await measures[name][0](), await measures[name][1]()]
        if (name !== 'origin_cache_c16') wikiRequests += Math.round(ours.rate_per_s * DURATION_S)
        found[name].push({ ratio: ours.rate_per_s / base.rate_per_s, base: base.rate_per_s, rate: ours.rate_per_s, generator: Math.max(base.generator_cpu_share, ours.generator_cpu_share) })
      }
      note(`round ${round} of ${ROUNDS}: ${group.map((name) => `${name} ${found[name][round - 1].ratio.toFixed(3)}`).join(', ')}`)
    }
  }

  console.log('what              ratio (median, least … most)   per second   bare per second   generator')
  for (const [name, rounds] of Object.entries(found)) {
    const ratios = rounds.map(({ ratio }) => ratio)
    const generator = Math.max(...rounds.map((round) => round.generator))
    console.log(`${name.padEnd(18)}${median(ratios).toFixed(3)}  ${Math.min(...ratios).toFixed(3)} … ${Math.max(...ratios).toFixed(3)}`.padEnd(49) +
      `${median(rounds.map(({ rate }) => rate)).toFixed(0).padStart(10)}${median(rounds.map(({ base }) => base)).toFixed(0).padStart(18)}   ${(100 * generator).toFixed(0)} % of a core${generator > GENERATOR_LIMIT ? ' (limited by it)' : ''}`)
  }
  const [resident] = /(?<=VmRSS:\s+)\d+/.exec(readFileSync(`/proc/${wiki.child.pid}/status`, 'utf8')) ?? ['0']
  console.log(`the wiki was ready ${wiki.startedInMs.toFixed(0)} ms after its start, and has ${(Number(resident) / 1024).toFixed(0)} MiB in memory after ${wikiRequests} requests`)
  console.log(JSON.stringify(Object.fromEntries(Object.entries(found).map(([name, rounds]) => [name, Number(median(rounds.map(({ ratio }) => ratio)).toFixed(3))]))))
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).map((child) => once(child, 'exit')))
  await mongod.stop()
}
