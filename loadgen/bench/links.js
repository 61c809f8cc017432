// Compares the latency and bandwidth of the links with their settings: `node loadgen/bench/links.js`. About 45 s.
import http from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { toxicsOf } from '../src/profile/links.js'
import { readProfile } from '../src/profile/profile.js'
import { claimMachine } from '@stevec/harness/machine-lock'
import { freePorts } from '@stevec/harness/ports'
import { stopProcess } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'

const REQUESTS = 300
const BODY = Buffer.alloc(2_000_000, 'x')

await claimMachine()
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const server = http.createServer((incoming, response) => {
  if (incoming.method === 'GET') response.end(incoming.url === '/small' ? 'small' : BODY)
  else incoming.resume().on('end', () => response.end('small'))
})
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

/**
 * @param {number} to
 * @param {string} url
 * @param {{agent?: http.Agent | false, body?: Buffer}} [options]  a body makes it a POST
 * @returns {Promise<number>} milliseconds
 */
function send (to, url, { agent = false, body } = {}) {
  const startedAt = performance.now()
  const options = { host: '127.0.0.1', port: to, path: url, agent, method: body === undefined ? 'GET' : 'POST' }
  return new Promise((resolve, reject) => {
    http.request(options, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt)).on('error', reject)
    }).on('error', reject).end(body)
  })
}

/** @param {number} to @param {boolean} reuse */
async function quantiles (to, reuse) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const times = []
  for (let index = 0; index < REQUESTS; index++) times.push(await send(to, '/small', { agent: reuse && agent }))
  agent.destroy()
  times.sort((a, b) => a - b)
  return { p50: times[REQUESTS >> 1], p99: times[Math.floor(REQUESTS * 0.99)] }
}

const { profile: none } = readProfile('none')
const toxics = (/** @type {Partial<typeof none.links>} */ links) =>
  toxicsOf({ ...none, links: { ...none.links, ...links } })['client-origin']
const mbit = (/** @type {number} */ value) => `${value.toFixed(2)} Mb/s`
/**
 * @param {number} connections  of each kind
 * @param {(Buffer | undefined)[]} bodies  kinds of requests: undefined for a GET
 * @returns {Promise<number[]>} Mb/s of each kind, all its connections together
 */
const rates = (connections, bodies) => Promise.all(bodies.map(async (body) => {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, () => send(listen, '/', { body })))
  return connections * BODY.length * 8 / 1000 / (performance.now() - startedAt)
}))
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
  const down = { origin_uplink_mbit_per_s: 50 }
  const up = { client_uplink_mbit_per_s: 8.3 }
  await replaceToxics(api, { 'client-origin': toxics({ ...down, ...up }) })
  for (const connections of [1, 8]) {
    const [downMbitPerS] = await rates(connections, [undefined])
    const [upMbitPerS] = await rates(connections, [BODY])
    console.log(`${connections} at once: down ${mbit(downMbitPerS)} (50 set), up ${mbit(upMbitPerS)} (8.3 set)`)
  }
  const both = await rates(4, [undefined, BODY])
  console.log(`4 down beside 4 up: down ${mbit(both[0])}, up ${mbit(both[1])}`)
  for (const body of [5_000, 50_000].map((size) => BODY.subarray(0, size))) {
    const times = []
    for (let index = 0; index < 30; index++) times.push(await send(listen, '/', { body }))
    times.sort((a, b) => a - b)
    console.log(`a POST of ${body.length} bytes: ${ms(body.length * 8 / 8300)} expected, p50 ${ms(times[15])}`)
  }
} finally {
  for (const identity of started) await stopProcess(identity)
  server.close()
  rmSync(directory, { recursive: true })
}
