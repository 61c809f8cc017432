// Measures how soon the edge serves what it had stored, after a kill -9: node nginx/bench/restart.js
import http from 'node:http'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { prepareRole } from '@stevec/nginx'
import { claimMachine } from '@stevec/harness/machine-lock'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const OBJECTS_MAX = 200_000
const HELP = `Usage: node nginx/bench/restart.js [--objects N] [--rounds N]

Stores responses of 5 kB in the edge, ends all its processes with SIGKILL, and starts it again on the same folder.
Prints the time from the start of nginx to the first HIT, in milliseconds, for each round, and how many of 1000 stored
responses, drawn evenly, are HITs then.

  --objects N   100 to ${OBJECTS_MAX} (default 100000)
  --rounds N    1 to 20 (default 5)

Example:
  node nginx/bench/restart.js --objects 10000 --rounds 3
`
const BODY = 'x'.repeat(5_000)
const CONNECTIONS = 16
const PROBES = 1_000
const WAIT_MAX_MS = 120_000

/** @param {number} objects @param {number} rounds */
async function main (objects, rounds) {
  await claimMachine()
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-restart-'))
  const [originPort, port, controlPort] = await freePorts(3)
  const origin = http.createServer((_request, response) => {
    response.setHeader('Cache-Control', 'max-age=86400').end(BODY)
  })
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const ask = (/** @type {string} */ url) => statusOf({ port, agent, path: url })
  const edge = createEdge({ directory, port, originPort, controlPort })
  try {
    await edge.start(() => ask('/first'))
    await each(objects, async (number) => {
      await ask(pathOf(number))
      if (number % (objects / 10) === 0) process.stderr.write(`stored: ${number} of ${objects} …\n`)
    })
    for (let round = 1; round <= rounds; round++) {
      await edge.untilNamed()
      await edge.kill()
      const ms = await edge.start(async () => await ask(pathOf(objects - 1)) === 'HIT')
      let hits = 0
      await each(PROBES, async (probe) => {
        const status = await ask(pathOf(Math.floor(probe * objects / PROBES)))
        if (status === 'HIT') hits++
      })
      process.stdout.write(`round ${round}: first HIT after ${ms.toFixed(0)} ms, ${hits} of ${PROBES} are HITs\n`)
    }
    process.stdout.write(`${objects} objects, ${edge.describe()}\n`)
  } finally {
    agent.destroy()
    await edge.stop()
    origin.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param {number} number */
const pathOf = (number) => `/object/${number}`

/** @param {{directory: string, port: number, originPort: number, controlPort: number}} where */
function createEdge ({ directory, port, originPort, controlPort }) {
  const binary = requireTool('nginx').path
  const answers = path.join(directory, 'answers')
  /** @type {Awaited<ReturnType<typeof startProcess>> | null} */
  let nginx = null
  return {
    /** @param {() => Promise<unknown>} isUp @returns {Promise<number>} ms from the start of nginx until it is up */
    async start (isUp) {
      const { command, args } = await prepareRole({
        role: 'edge',
        port,
        origin: { addresses: ['127.0.0.1'], port: originPort, host: '127.0.0.1', tls: false },
        controlPort,
        controlToken: 'bench',
        warm: true
      }, { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
      const startedAt = performance.now()
      nginx = await startProcess({ name: 'edge', command, args, logFile: path.join(directory, 'nginx.log') })
      if (!await waitUntil(() => isUp().catch(() => false), WAIT_MAX_MS, 5)) throw new Error('the edge is not up')
      return performance.now() - startedAt
    },
    /** Its state is written shortly after the start. */
    async untilNamed () {
      if (!await waitUntil(() => existsSync(path.join(answers, 'current')), WAIT_MAX_MS)) {
        throw new Error('the edge has not written its state')
      }
    },
    async kill () {
      const { pid } = /** @type {NonNullable<typeof nginx>} */ (nginx)
      const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
      for (const each of [pid, ...workers]) process.kill(each, 'SIGKILL')
      const isDead = () => ![pid, ...workers].some((each) => existsSync(`/proc/${each}/exe`))
      if (!await waitUntil(isDead, WAIT_MAX_MS, 5)) throw new Error('the edge outlived SIGKILL')
    },
    describe () {
      const sizeOf = (/** @type {RegExp} */ names) => readdirSync(answers).filter((name) => names.test(name))
        .reduce((sum, name) => sum + statSync(path.join(answers, name)).size, 0) / 1e6
      return `${sizeOf(/^\d+$/).toFixed(0)} MB stored, ${sizeOf(/^(state|journal)-/).toFixed(1)} MB of journal`
    },
    async stop () {
      if (nginx) await stopProcess(nginx)
    }
  }
}

/** @param {number} count @param {(number: number) => Promise<unknown>} work */
async function each (count, work) {
  let next = 0
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    while (next < count) await work(next++)
  }))
}

/** @param {http.RequestOptions} options @returns {Promise<string>} CF-Cache-Status */
const statusOf = (options) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', ...options }, (response) => {
    response.resume().once('end', () => resolve(String(response.headers['cf-cache-status'])))
  }).once('error', reject)
})

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h' }
  }
})
const [objects, rounds] = [Number(values.objects), Number(values.rounds)]
if (values.help) {
  process.stdout.write(HELP)
} else if (![objects, rounds].every(Number.isInteger) || objects < 100 || objects > OBJECTS_MAX || rounds < 1 ||
  rounds > 20) {
  process.stderr.write('--objects or --rounds is not as --help says\n')
  process.exitCode = 2
} else {
  await main(objects, rounds)
}
