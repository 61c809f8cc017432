// What asking the wikis whether they are ready costs: processor time of nginx for a request, with and without, in
// alternation in one run. Only the ratio is meaningful.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { freePorts } from '@stevec/harness/ports'
import { childPids, readThreads } from '@stevec/harness/proc'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const ROUNDS = 9
const REQUESTS = 4_000
const CONNECTIONS = 16

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const [port, bare, ...wikiPorts] = await freePorts(4)
const wikis = wikiPorts.map((wikiPort) =>
  http.createServer((_, response) => response.end('x'.repeat(5_000))).listen(wikiPort, '127.0.0.1'))
const { path: binary } = requireTool('nginx')
/** @type {import('@stevec/harness/processes').ProcessIdentity[]} */
const running = []
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })

/** @param {string} name @param {number} listen @param {string} modulesDirectory */
async function start (name, listen, modulesDirectory) {
  const own = path.join(directory, name)
  mkdirSync(own)
  const prepared = await prepareRole(
    { role: 'origin', port: listen, wikiPort: wikiPorts }, { directory: own, binary, modulesDirectory })
  const nginx = await startProcess({ name, ...prepared, logFile: path.join(own, 'log') })
  running.push(nginx)
  await waitUntil(() => request(`http://127.0.0.1:${listen}/`).then(() => true, () => false), 10_000)
  return { listen, worker: childPids(nginx.pid)[0] }
}

const get = (/** @type {number} */ listen) => new Promise((resolve, reject) =>
  http.get({ port: listen, host: '127.0.0.1', path: '/', agent }, (response) =>
    response.resume().on('end', () => resolve(undefined))).on('error', reject))

/** @param {number} pid */
const spentS = (pid) => readThreads(pid).reduce((sum, { cpu_s: cpuS }) => sum + cpuS, 0)

/** @param {{listen: number, worker: number}} nginx @returns {Promise<number>} µs of processor time for a request */
async function cost ({ listen, worker }) {
  const before = spentS(worker)
  let left = REQUESTS
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => { while (left-- > 0) await get(listen) }))
  return (spentS(worker) - before) * 1e6 / REQUESTS
}

const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[values.length >> 1]

try {
  const without = await start('without', bare, '')
  const checking = await start('checking', port, nginxModulesDirectory(binary) ?? '')
  const costs = { without: /** @type {number[]} */ ([]), checking: /** @type {number[]} */ ([]) }
  for (let round = 0; round < ROUNDS; round++) {
    costs.without.push(await cost(without))
    costs.checking.push(await cost(checking))
  }
  const ratios = costs.checking.map((us, round) => us / costs.without[round])
  console.log(`µs of nginx a request, medians of ${ROUNDS} rounds: ` +
    `${median(costs.without).toFixed(1)} without checks, ${median(costs.checking).toFixed(1)} with them; ` +
    `ratio ${median(ratios).toFixed(3)} ` +
    `(${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`)
} finally {
  agent.destroy()
  for (const nginx of running) await stopProcess(nginx)
  for (const wiki of wikis) wiki.close()
  rmSync(directory, { recursive: true })
}
