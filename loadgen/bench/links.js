// Compares the latency and bandwidth of the links with their settings: `node loadgen/bench/links.js`. About 20 s.
import http from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { toxicsOf } from '../src/profile/links.js'
import { readProfile } from '../src/profile/profile.js'
import { freePorts } from '@stevec/harness/ports'
import { stopProcess } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'

const REQUESTS = 300
const BODY = Buffer.alloc(2_000_000, 'x')

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const server = http.createServer((incoming, response) => response.end(incoming.url === '/small' ? 'small' : BODY))
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
const upstream = /** @type {import('node:net').AddressInfo} */ (server.address()).port
const [listen, port] = await freePorts(2)
/** @type {import('@stevec/harness/processes').ProcessIdentity[]} */
const started = []
const api = await startToxiproxy({
  links: [{ name: 'client-origin', listen, upstream: `127.0.0.1:${upstream}` }],
  port,
  logFile: path.join(directory, 'log'),
  outlive: false,
  onStart: (identity) => started.push(identity)
})

/** @param {number} to @param {string} url @param {http.Agent | false} agent @returns {Promise<number>} milliseconds */
function get (to, url, agent) {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port: to, path: url, agent }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt)).on('error', reject)
    }).on('error', reject)
  })
}

/** @param {number} to @param {boolean} reuse */
async function quantiles (to, reuse) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const times = []
  for (let index = 0; index < REQUESTS; index++) times.push(await get(to, '/small', reuse ? agent : false))
  agent.destroy()
  times.sort((a, b) => a - b)
  return { p50: times[REQUESTS >> 1], p99: times[Math.floor(REQUESTS * 0.99)] }
}

const { profile: none } = readProfile('none')
const toxics = (/** @type {Partial<typeof none.links>} */ links) =>
  toxicsOf({ ...none, links: { ...none.links, ...links } })['client-origin']
const ms = (/** @type {number} */ value) => `${value.toFixed(2)} ms`

try {
  for (const reuse of [true, false]) {
    const [direct, linked] = [await quantiles(upstream, reuse), await quantiles(listen, reuse)]
    console.log(`a hop, ${reuse ? 'open' : 'new'} connection: direct p50 ${ms(direct.p50)}, through a link ${ms(linked.p50)}: ${ms(linked.p50 - direct.p50)} more`)
  }
  for (const rtt of [9, 17]) {
    await replaceToxics(api, { 'client-origin': toxics({ client_origin_rtt_ms: rtt }) })
    for (const reuse of [true, false]) {
      const { p50, p99 } = await quantiles(listen, reuse)
      console.log(`round trip of ${rtt} ms, ${reuse ? 'open' : 'new'} connection: expected ${rtt * (reuse ? 1 : 2)} ms, p50 ${ms(p50)}, p99 ${ms(p99)}`)
    }
  }
  await replaceToxics(api, { 'client-origin': toxics({ uplink_mbit_per_s: 50 }) })
  for (const connections of [1, 8]) {
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: connections }, () => get(listen, '/', false)))
    console.log(`uplink of 50 Mb/s, ${connections} connection${connections > 1 ? 's' : ''}: ${(connections * BODY.length * 8 / 1000 / (performance.now() - startedAt)).toFixed(1)} Mb/s together`)
  }
} finally {
  for (const identity of started) await stopProcess(identity)
  server.close()
  rmSync(directory, { recursive: true })
}
