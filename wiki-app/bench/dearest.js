// Measures how long readers of short pages wait beside the costliest anonymous requests: make bench-dearest.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, request as send } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { hashPassword } from '../src/access/password.js'
import { dearRequests, dearSignIns, fillDear, USER } from './dear-requests.js'
import { fillWiki } from './fill.js'
import { describeMachine } from './machine.js'
import { cpuSeconds } from './process.js'
import { createServers } from './servers.js'

const HELP = `Usage: node wiki-app/bench/dearest.js [options]

Fills a wiki, and sends it each of the costliest requests that an anonymous client can send, first one at a time and
then ten at a time, while a reader in another process asks for 50 short pages a second. Prints for each request, the
costliest first: its processor time, and how long the reader waited. The first two lines are of the reader alone.

  --pages N     of the wiki (default 100000: some minutes to fill)
  --seconds N   of each measurement (default 4)
  --only TEXT   only requests with this in their title; may be given several times
  --check       exit 1 when the reader waited longer than 250 ms at the 99th percentile

Examples:
  make bench-dearest
  node wiki-app/bench/dearest.js --pages 10000 --only difference
`
/** The longest wait of the reader, at the 99th percentile beside any anonymous request, that `--check` accepts. */
const WAIT_MAX_MS = 250
const AT_ONCE = [1, 10]
/** Longer requests, such as reads of the whole wiki, are cut off and counted. */
const PATIENCE_MS = 20_000
const REVISIONS = 2
const QUIET_MAX_MS = 10_000
const QUIET_CPU_S = 0.05

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** @param {number[]} values @param {number} share */
function percentile (values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}

/**
 * @param {string} url
 * @param {import('./dear-requests.js').Request} request
 * @param {Agent} agent
 * @param {AbortSignal} signal
 * @returns {Promise<{status: string, bytes: number, ms: number}>}
 */
const ask = (url, { method = 'GET', path, headers = {}, body = '' }, agent, signal) => new Promise((resolve) => {
  const startedAt = performance.now()
  let bytes = 0
  const end = (/** @type {string} */ status) => resolve({ status, bytes, ms: performance.now() - startedAt })
  const request = send(url + path, {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent,
    signal
  }, (response) => {
    response.on('data', (chunk) => { bytes += chunk.length })
    response.on('end', () => end(String(response.statusCode)))
    response.on('error', () => end(`${response.statusCode}, cut off`))
  })
  request.on('error', () => end('no answer'))
  request.end(body)
})

/**
 * Runs clients that each send the next request as soon as they have a response.
 * @param {string} url
 * @param {() => import('./dear-requests.js').Request} next
 * @param {number} clients
 * @param {number} durationMs
 */
async function load (url, next, clients, durationMs) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const until = performance.now() + durationMs
  /** @type {Awaited<ReturnType<typeof ask>>[]} */
  const answers = []
  await Promise.all(Array.from({ length: clients }, async () => {
    do answers.push(await ask(url, next(), agent, AbortSignal.timeout(PATIENCE_MS)))
    while (performance.now() < until)
  }))
  agent.destroy()
  return answers
}

/** @param {number[]} pids @returns {Promise<void>} when the processes are idle, at most after QUIET_MAX_MS */
async function quiet (pids) {
  const all = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const until = performance.now() + QUIET_MAX_MS
  for (let before = all(); performance.now() < until; before = all()) {
    await sleep(500)
    if (all() - before < QUIET_CPU_S) return
  }
}

/**
 * @param {string} url
 * @param {number} pages
 */
function createReader (url, pages) {
  const child = fork(fileURLToPath(new URL('paced-reader.js', import.meta.url)), [url, String(pages)])
  return {
    /**
     * @template Result
     * @param {() => Promise<Result>} work
     * @returns {Promise<{waits: number[], result: Result}>}  `waits` in milliseconds
     */
    async during (work) {
      child.send('start')
      const result = await work()
      child.send('stop')
      const [waits] = await once(child, 'message')
      // Messages are sent as JSON, which has no Infinity.
      return { waits: waits.map((/** @type {number | null} */ wait) => wait ?? Infinity), result }
    },
    stop: () => child.kill()
  }
}

const shown = (/** @type {number} */ value) => value === Infinity ? 'never' : value.toFixed(value < 10 ? 1 : 0)

/** @param {string[]} statuses */
function countsOf (statuses) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${status} × ${count}`).join(', ')
}

/**
 * Measures the reader beside each kind of request, and alone before and after.
 * @param {object} options
 * @param {ReturnType<typeof createServers>} options.servers
 * @param {{uri: string, pid: number}} options.mongod  with the filled wiki
 * @param {NodeJS.ProcessEnv} options.settings  of the wiki
 * @param {{title: string, request: () => import('./dear-requests.js').Request}[]} options.kinds
 * @param {number} options.pages
 * @param {number} options.seconds
 */
async function measure ({ servers, mongod, settings, kinds, pages, seconds }) {
  const wiki = await servers.wiki(mongod.uri, settings)
  const pids = [wiki.pid, mongod.pid]
  const reader = createReader(wiki.url, pages)
  try {
    await load(wiki.url, dearRequests(pages)[0].request, 10, 2_000)
    const alone = async () => {
      await quiet(pids)
      return (await reader.during(() => sleep(seconds * 1000))).waits
    }
    const before = await alone()
    note(`the reader alone: p50 ${shown(percentile(before, 0.5))} ms, p99 ${shown(percentile(before, 0.99))} ms`)
    const rows = []
    for (const { title, request } of kinds) {
      const runs = []
      for (const clients of AT_ONCE) {
        await quiet(pids)
        const cpuBefore = pids.map(cpuSeconds)
        const { waits, result: answers } = await reader.during(() => load(wiki.url, request, clients, seconds * 1000))
        await quiet(pids)
        const cpuMs = pids.map((pid, index) => (cpuSeconds(pid) - cpuBefore[index]) * 1000 / answers.length)
        runs.push({ waits, answers, cpuMs })
      }
      rows.push(rowOf(title, runs))
      note(`${title}: p99 ${runs.map(({ waits }, index) =>
        `${shown(percentile(waits, 0.99))} ms beside ${AT_ONCE[index]}`).join(', ')}; ${rows.at(-1)?.cells.at(-1)}`)
    }
    return { before, rows, after: await alone() }
  } finally {
    reader.stop()
    await wiki.stop()
  }
}

/**
 * @param {string} title
 * @param {{waits: number[], answers: Awaited<ReturnType<typeof load>>, cpuMs: number[]}[]} runs  beside one client, and
 *   beside many
 */
function rowOf (title, runs) {
  const [one] = runs
  return {
    title,
    cpuMs: one.cpuMs[0] + one.cpuMs[1],
    p99Ms: Math.max(...runs.map(({ waits }) => percentile(waits, 0.99))),
    cells: [
      ...one.cpuMs.map(shown),
      shown(percentile(one.answers.map(({ ms }) => ms), 0.5)),
      shown(Math.max(...one.answers.map(({ bytes }) => bytes)) / 1000),
      ...runs.flatMap(({ waits }) => waitCells(waits)),
      countsOf(runs.flatMap(({ answers }) => answers.map(({ status }) => status)))
    ]
  }
}

/** @param {number[]} waits */
const waitCells = (waits) => [percentile(waits, 0.5), percentile(waits, 0.99), Math.max(...waits)].map(shown)

/** @param {string} directory */
async function settingsOfUsers (directory) {
  const file = path.join(directory, 'users.json')
  const user = { name: USER, role: 'editor', password: await hashPassword('the right password') }
  writeFileSync(file, JSON.stringify({ users: [user] }), { mode: 0o600 })
  return { ACCESS: 'users', USERS_FILE: file }
}

/** @param {{pages: number, seconds: number, only: string[], check: boolean}} options */
async function main ({ pages, seconds, only, check }) {
  await claimMachine()
  note(describeMachine())
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    note(`filling a wiki with ${pages} pages …`)
    await fillWiki(mongod.uri, { pages, revisions: REVISIONS })
    await fillDear(mongod.uri)
    const wikis = [
      { settings: {}, kinds: dearRequests(pages) },
      { settings: await settingsOfUsers(servers.directory), kinds: dearSignIns() }
    ]
    const measured = []
    for (const { settings, kinds } of wikis) {
      const wanted = kinds.filter(({ title }) => only.some((part) => title.includes(part)))
      if (wanted.length > 0) measured.push(await measure({ servers, mongod, settings, kinds: wanted, pages, seconds }))
    }
    if (measured.length === 0) throw new Error(`no request has "${only.join('" or "')}" in its title`)

    console.log('wiki_cpu_ms\tmongod_cpu_ms\town_p50_ms\tkB\tp50_ms_1\tp99_ms_1\tmax_ms_1\t' +
      'p50_ms_10\tp99_ms_10\tmax_ms_10\tstatus\trequest')
    for (const { before, after } of measured) {
      console.log(['', '', '', '', ...waitCells(before), '', '', '', '', 'the reader alone, before'].join('\t'))
      console.log(['', '', '', '', ...waitCells(after), '', '', '', '', 'the reader alone, after'].join('\t'))
    }
    const rows = measured.flatMap((each) => each.rows)
    for (const { title, cells } of [...rows].sort((a, b) => b.cpuMs - a.cpuMs)) {
      console.log([...cells, title].join('\t'))
    }
    const over = rows.filter(({ p99Ms }) => p99Ms > WAIT_MAX_MS)
    console.log(over.length === 0
      ? `no request made the reader wait longer than ${WAIT_MAX_MS} ms at the 99th percentile`
      : `the reader waited longer than ${WAIT_MAX_MS} ms at the 99th percentile beside: ` +
        over.map(({ title, p99Ms }) => `${title} (${shown(p99Ms)} ms)`).join('; '))
    if (check && over.length > 0) process.exitCode = 1
  } finally {
    await servers.stopAll()
  }
}

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true, default: [''] },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' }
  }
})
const [pages, seconds] = [Number(values.pages), Number(values.seconds)]
const refuse = (/** @type {string} */ text) => {
  process.stderr.write(`${text}\n`)
  process.exitCode = 2
}
if (values.help) process.stdout.write(HELP)
else if (!Number.isInteger(pages) || pages < 100 || pages > 1_000_000) {
  refuse(`--pages must be a whole number from 100 to 1000000, not "${values.pages}"`)
} else if (!Number.isInteger(seconds) || seconds < 1 || seconds > 60) {
  refuse(`--seconds must be a whole number from 1 to 60, not "${values.seconds}"`)
} else {
  await main({ pages, seconds, only: values.only, check: values.check })
}
