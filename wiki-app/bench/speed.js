// How fast the wiki is, as ratios to what a bare server and the bare driver reach in the same minute of the same machine, and what it takes
// of the processor and of memory: make bench.
import { fileURLToPath } from 'node:url'
import { pageText } from '../../loadgen/scenarios/content.js'
import { openBareDriver } from './bare-driver.js'
import { load } from './load.js'
import { describeMachine } from './machine.js'
import { residentMb } from './process.js'
import { createServers } from './servers.js'
import { loadWithWrk } from './wrk.js'

const ROUNDS = 5
const PAGES = 1_000
const STARTS = 5
/** When memory is looked at; the first of these requests also warm the wiki up. */
const MEMORY_AFTER_REQUESTS = [1_000, 10_000, 100_000]
/** The experiments' pages, of 5 kB; a page is saved with the texts of others, as an edit changes what it edits. */
const TEXTS = Array.from({ length: PAGES }, (_, page) => pageText(1, page, 5_000))
/** More than it comes to in one measurement: each is a request that is made beforehand. */
const SAVES_OF_A_CONNECTION = 1_000
const GENERATOR_LIMIT = 0.9

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)
const path = (/** @type {number} */ page) => `/wiki/page-${page}`
const anyPage = () => Math.floor(Math.random() * PAGES)
const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** @param {string} url */
async function fillPages (url) {
  let next = 0
  /** @type {{etag: string, bytes: number}[]} */
  const pages = []
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < PAGES) {
      const page = next++
      const saved = await fetch(url + path(page), { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: TEXTS[page] })
      if (!saved.ok) throw new Error(`${path(page)} was refused: ${await saved.text()}`)
      const answer = await fetch(url + path(page))
      pages[page] = { etag: String(answer.headers.get('etag')), bytes: (await answer.arrayBuffer()).byteLength }
    }
  }))
  return pages
}

const servers = createServers()
try {
  const machine = describeMachine()
  const mongod = await servers.mongod()
  note(`filling a wiki with ${PAGES} pages of 5 kB …`)
  const filler = await servers.wiki(mongod.uri)
  const pages = await fillPages(filler.url)
  await filler.stop()

  note(`starting it ${STARTS} times …`)
  /** @type {number[]} */
  const startsMs = []
  for (let count = 1; count < STARTS; count++) {
    const { ready_ms: readyMs, stop } = await servers.wiki(mongod.uri)
    startsMs.push(readyMs)
    await stop()
  }
  const wiki = await servers.wiki(mongod.uri)
  startsMs.push(wiki.ready_ms)
  const keeping = await servers.wiki(mongod.uri, { ORIGIN_CACHE_MIB: '64' })
  const bare = await servers.node([fileURLToPath(new URL('bare.js', import.meta.url))], { SIZE_BYTES: String(median(pages.map(({ bytes }) => bytes))) })

  const views = pages.map((_, page) => ({ path: path(page) }))
  const known = pages.map(({ etag }, page) => ({ path: path(page), headers: { 'if-none-match': etag } }))
  const saves = () => Array.from({ length: SAVES_OF_A_CONNECTION }, () =>
    ({ method: /** @type {const} */ ('POST'), path: path(anyPage()), headers: { 'content-type': 'text/markdown' }, body: TEXTS[anyPage()] }))
  const at = (/** @type {import('./servers.js').Server} */ { url, pid }, /** @type {number} */ connections, /** @type {{path: string, headers?: Record<string, string>}[]} */ requests, expected = 200) =>
    loadWithWrk({ directory: servers.directory, url, connections, requests, expected, pid })
  const save = (/** @type {number} */ connections) => load({ url: wiki.url, connections, requests: saves, pids: [wiki.pid] })
  const bareDriver = await openBareDriver(mongod.uriFor('bare'), TEXTS)
  const driver = async (/** @type {number} */ concurrency) =>
    ({ requests: 0, rate_per_s: await bareDriver.saves(concurrency), cpu_us: [], generator_cpu_share: 0 })

  note(`memory after ${MEMORY_AFTER_REQUESTS.join(', ')} views …`)
  /** @type {number[]} */
  const residentMbs = []
  let wikiRequests = 0
  for (const requests of MEMORY_AFTER_REQUESTS) {
    await load({ url: wiki.url, connections: 16, requests: views, amount: requests - wikiRequests })
    wikiRequests = requests
    residentMbs.push(residentMb(wiki.pid))
  }

  /** Each with what it is a ratio to, measured right before it. @type {Record<string, [() => Promise<import('./load.js').Load>, () => Promise<import('./load.js').Load>]>} */
  const measures = {
    view_c16: [() => at(bare, 16, views), () => at(wiki, 16, views)],
    view_c64: [() => at(bare, 64, views), () => at(wiki, 64, views)],
    not_modified_c16: [() => at(bare, 16, views), () => at(wiki, 16, known, 304)],
    origin_cache_c16: [() => at(bare, 16, views), () => at(keeping, 16, views)],
    save_c1: [() => driver(1), () => save(1)],
    save_c16: [() => driver(16), () => save(16)]
  }
  /** @type {Record<string, {ratio: number, base: import('./load.js').Load, ours: import('./load.js').Load}[]>} */
  const found = Object.fromEntries(Object.keys(measures).map((name) => [name, []]))
  note('warming up …')
  for (const run of measures.origin_cache_c16) await run()
  // Saves come last, as they change the validators.
  for (const group of [['view_c16', 'view_c64', 'not_modified_c16', 'origin_cache_c16'], ['save_c1', 'save_c16']]) {
    for (let round = 1; round <= ROUNDS; round++) {
      for (const name of group) {
        const [base, ours] = [await measures[name][0](), await measures[name][1]()]
        if (name !== 'origin_cache_c16') wikiRequests += ours.requests
        found[name].push({ ratio: ours.rate_per_s / base.rate_per_s, base, ours })
      }
      note(`round ${round} of ${ROUNDS}: ${group.map((name) => `${name} ${found[name][round - 1].ratio.toFixed(3)}`).join(', ')}`)
    }
  }

  console.log(machine)
  console.log('what              ratio (median, least … most)   per second   bare per second   CPU µs   bare CPU µs   generator')
  for (const [name, rounds] of Object.entries(found)) {
    const ratios = rounds.map(({ ratio }) => ratio)
    const generator = Math.max(...rounds.flatMap(({ base, ours }) => [base.generator_cpu_share, ours.generator_cpu_share]))
    const cpu = (/** @type {'base' | 'ours'} */ whose) => rounds[0][whose].cpu_us.length === 0 ? '' : median(rounds.map((round) => round[whose].cpu_us[0])).toFixed(0)
    console.log(`${name.padEnd(18)}${median(ratios).toFixed(3)}  ${Math.min(...ratios).toFixed(3)} … ${Math.max(...ratios).toFixed(3)}`.padEnd(49) +
      `${median(rounds.map(({ ours }) => ours.rate_per_s)).toFixed(0).padStart(10)}${median(rounds.map(({ base }) => base.rate_per_s)).toFixed(0).padStart(18)}${cpu('ours').padStart(9)}${cpu('base').padStart(14)}   ${(100 * generator).toFixed(0)} % of a core${generator > GENERATOR_LIMIT ? ' (limited by it)' : ''}`)
  }
  console.log(`memory, MB: ${MEMORY_AFTER_REQUESTS.map((requests, index) => `${residentMbs[index].toFixed(0)} after ${requests} views`).join(', ')}; ${residentMb(wiki.pid).toFixed(0)} after ${wikiRequests} requests, saves among them`)
  console.log(`start to ready, ms (${STARTS} starts): median ${median(startsMs).toFixed(0)}, least ${Math.min(...startsMs).toFixed(0)}, most ${Math.max(...startsMs).toFixed(0)}`)
  console.log(JSON.stringify(Object.fromEntries(Object.entries(found).map(([name, rounds]) => [name, Number(median(rounds.map(({ ratio }) => ratio)).toFixed(3))]))))
  await bareDriver.close()
} finally {
  await servers.stopAll()
}
