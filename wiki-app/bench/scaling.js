// Measures how the wiki scales over processes (WORKERS): node wiki-app/bench/scaling.js
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { dropGroup, setCpuShare } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { claimMachine } from '@stevec/harness/machine-lock'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '../src/start.js'
import { load } from './load.js'
import { WIKI_SETTINGS } from './servers.js'

const ROUNDS = 3
const PAGES = 1_000
/**
 * For each process. The reads of one turn of the event loop are one database command, so a view would cost more in a
 * process with fewer connections.
 */
const CONNECTIONS = 64
/** For each process, before it is measured: V8 compiles hot code while the process still has a whole core. */
const WARM_UP_REQUESTS = 10_000
const DURATION_S = 8
const SHARE = 0.12
const COUNTS = [1, 2, 4]
const HELP = `Usage: node wiki-app/bench/scaling.js

Page views a second with WORKERS=1, 2 and 4, each process with ${CONNECTIONS} connections, 1000 pages of 5 kB, in two ways:

  slow cores   each process may have ${0.12 * 100} % of a core, so that this machine has cores to spare for the load and the database: what n of them do, as a
               ratio to n times what one does. Needs root and cgroups.
  this machine as many processes as it has cores. They share these with the load and the database, so the ratio is of the machine, and not of the wiki; what
               tells of the wiki is the CPU time that a view takes in all its processes.
`
const TEXT = 'Lorem ipsum dolor sit amet, [a link](https://example.org/) and *more* text. '.repeat(66)
const READY_MAX_MS = 30_000
/** sysconf(_SC_CLK_TCK) on every Linux. */
const TICKS_PER_S = 100

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)
const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const views = Array.from({ length: PAGES }, (_, page) => ({ path: `/wiki/page-${page}` }))

/** @param {number} pid @returns {number} CPU seconds so far, of it and its live children (proc(5)) */
function cpuS (pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S +
    children.reduce((sum, child) => sum + cpuS(Number(child)), 0)
}

if (process.argv.includes('--help')) {
  process.stdout.write(HELP)
  process.exit(0)
}

await claimMachine()
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-scaling-'))
const mongod = await startMongod()

/**
 * @param {number} workers
 * @param {number | null} cpuShare  of a core, all processes together
 */
async function measure (workers, cpuShare) {
  const limits = createLimits({ cpu_share: cpuShare, memory_bytes: null }, () => {})
  if (cpuShare !== null && limits.controllers.cpu === undefined) {
    throw new Error(`the CPU cannot be limited here: ${limits.missing.cpu}`)
  }
  const [port, metricsPort] = await freePorts(2)
  const url = `http://127.0.0.1:${port}`
  const logFile = path.join(directory, 'wiki.log')
  const wiki = await startProcess({
    name: 'wiki',
    command: process.execPath,
    args: [...WIKI_ARGUMENTS],
    logFile,
    cgroups: limits.directories,
    env: {
      PATH: process.env.PATH,
      ...WIKI_ENVIRONMENT,
      ...WIKI_SETTINGS,
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      MONGODB_URI: mongod.uri,
      WORKERS: String(workers)
    }
  })
  try {
    if (
      !await waitUntil(
        () => isAlive(wiki) &&
          readFileSync(logFile, 'utf8').includes(`:${port}`) &&
          fetch(`${url}/readyz`).then(({ ok }) => ok, () => false),
        READY_MAX_MS
      )
    ) {
      throw new Error(`the wiki is not ready:\n${logTail(logFile)}`)
    }
    if ((await fetch(`${url}/wiki/page-0`)).status === 404) await fill(url)
    const connections = CONNECTIONS * workers
    await load({ url, connections, requests: views, amount: WARM_UP_REQUESTS * workers })
    if (cpuShare !== null) setCpuShare(limits, cpuShare)
    const before = cpuS(wiki.pid)
    const { rate_per_s: rate, generator_cpu_share: generator } =
      await load({ url, connections, requests: views, duration_s: DURATION_S })
    return { rate, generator, cpuUs: (cpuS(wiki.pid) - before) / (rate * DURATION_S) * 1e6 }
  } finally {
    setCpuShare(limits, null)
    await stopProcess(wiki)
    dropGroup(limits.directories)
  }
}

/** @param {string} url */
async function fill (url) {
  note(`writing ${PAGES} pages …`)
  for (let page = 0; page < PAGES; page += 8) {
    await Promise.all(views.slice(page, page + 8).map(async ({ path }) => {
      const saved = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'text/markdown' },
        body: `${TEXT}${path}`
      })
      if (!saved.ok) throw new Error(`${path} was refused: ${await saved.text()}`)
    }))
  }
}

/**
 * @param {string} title
 * @param {number[]} counts  of processes
 * @param {(count: number) => number | null} shareOf
 */
async function compare (title, counts, shareOf) {
  /** @type {Map<number, Awaited<ReturnType<typeof measure>>[]>} */
  const found = new Map(counts.map((count) => [count, []]))
  for (let round = 1; round <= ROUNDS; round++) {
    for (const count of counts) found.get(count)?.push(await measure(count, shareOf(count)))
    note(`${title}: round ${round} of ${ROUNDS}: ${counts.map((count) => `${count}: ${found.get(count)?.[round - 1].rate.toFixed(0)} a second`).join(', ')}`)
  }
  const first = /** @type {Awaited<ReturnType<typeof measure>>[]} */ (found.get(counts[0]))
  console.log(
    `${title.padEnd(14)}processes   views a second   for each, to one alone   CPU a view, all processes   generator`
  )
  for (const [count, rounds] of found) {
    const ratio = median(rounds.map(({ rate }, round) => rate / first[round].rate / count))
    console.log(`${''.padEnd(14)}${String(count).padStart(9)}${median(rounds.map(({ rate }) => rate)).toFixed(0).padStart(17)}${ratio.toFixed(2).padStart(25)}${`${median(rounds.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs`.padStart(28)}` +
      `${(100 * Math.max(...rounds.map(({ generator }) => generator))).toFixed(0).padStart(10)} % of a core`)
  }
  return Object.fromEntries([...found].slice(1).map(([count, rounds]) => [
    `per_process_${count}`,
    Number(median(rounds.map(({ rate }, round) => rate / first[round].rate / count)).toFixed(2))
  ]))
}

try {
  const slow = process.getuid?.() === 0 ? await compare('slow cores', COUNTS, (count) => SHARE * count) : {}
  const whole = await compare('this machine', [1, 2], () => null)
  console.log(JSON.stringify({ slow_cores: slow, this_machine: whole }))
} finally {
  await mongod.stop()
  rmSync(directory, { recursive: true, force: true })
}
