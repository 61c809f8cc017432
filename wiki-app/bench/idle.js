// Measures the cost of an idle wiki and its database: make bench-idle. `--help` says how long it takes.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { describeMachine } from './machine.js'
import { cpuSeconds, sleeps } from './process.js'
import { createServers, UNWATCHED } from './servers.js'

const HELP = `Usage: node wiki-app/bench/idle.js [options]

Measures an idle wiki and its mongod: processor time in percent of a core, and how many times a second their threads
go to sleep, once for each time that something wakes them. Wikis with different settings, each with a mongod of its
own, are measured at once, beside a mongod without clients.
About two minutes and a half.

  --settle N    seconds to wait first: V8 collects the garbage of the start once (default 60)
  --seconds N   measured (default 60)
`
const SECONDS_MAX = 3_600
const PURGES = {
  CACHE_POLICY: 'purge-url',
  PURGE_ZONE: 'idle',
  PURGE_URL: 'http://127.0.0.1:1',
  PURGE_TOKEN: 'token-in-the-environment',
  PUBLIC_URL: 'http://wiki.localhost'
}

/** All but the second have metrics and request logs. @type {[string, NodeJS.ProcessEnv][]} */
const WIKIS = [
  ['as production has it', {}],
  ['without metrics, logs', UNWATCHED],
  ['with pages in memory', { ORIGIN_CACHE_MIB: '64' }],
  ['with purges', PURGES],
  ['two workers', { WORKERS: '2' }]
]

/**
 * @param {number[]} pids
 * @param {number} seconds
 * @returns {Promise<{cpu_percent: number, sleeps_per_s: number}[]>}
 */
async function measure (pids, seconds) {
  const read = () => pids.map((pid) => ({ at: performance.now(), cpuS: cpuSeconds(pid), sleeps: sleeps(pid) }))
  const before = read()
  await sleep(1_000 * seconds)
  return read().map(({ at, cpuS, sleeps }, index) => {
    const elapsedS = (at - before[index].at) / 1_000
    const slept = sleeps - before[index].sleeps
    return { cpu_percent: 100 * (cpuS - before[index].cpuS) / elapsedS, sleeps_per_s: slept / elapsedS }
  })
}

/** @param {{settle: number, seconds: number}} options */
async function main ({ settle, seconds }) {
  await claimMachine()
  const servers = createServers()
  try {
    const alone = await servers.mongod()
    const started = []
    for (const [name, settings] of WIKIS) {
      const mongod = await servers.mongod()
      started.push({ name, pids: [(await servers.wiki(mongod.uri, settings)).pid, mongod.pid] })
    }
    console.log(describeMachine())
    await sleep(1_000 * settle)
    const [lone, ...measured] = await measure([alone.pid, ...started.flatMap(({ pids }) => pids)], seconds)
    const shown = (/** @type {typeof lone} */ { cpu_percent: percent, sleeps_per_s: perS }) =>
      `${percent.toFixed(2).padStart(10)} ${perS.toFixed(1).padStart(8)}`
    console.log(`${''.padEnd(24)}${'wiki, % and sleeps/s'.padStart(19)}   ${'mongod'.padStart(19)}`)
    for (const [index, { name }] of started.entries()) {
      console.log(`${name.padEnd(24)}${shown(measured[2 * index])}   ${shown(measured[2 * index + 1])}`)
    }
    console.log(`${'a mongod alone'.padEnd(46)}${shown(lone)}`)
  } finally {
    await servers.stopAll()
  }
}

const { values } = parseArgs({
  options: {
    settle: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '60' },
    help: { type: 'boolean', short: 'h' }
  }
})
const [settle, seconds] = [Number(values.settle), Number(values.seconds)]
if (values.help) process.stdout.write(HELP)
else if (!(settle >= 0 && seconds > 0 && settle + seconds <= SECONDS_MAX)) {
  process.stderr.write(`--settle and --seconds are numbers, ${SECONDS_MAX} s together at most; see --help\n`)
  process.exitCode = 2
} else await main({ settle, seconds })
