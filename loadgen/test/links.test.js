import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { toxicsOf } from '../src/profile/links.js'
import { readProfile } from '../src/profile/profile.js'
import { request } from '@stevec/harness/request'
import { freePorts } from '@stevec/harness/ports'
import { stopProcess } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'

const { profile: none } = readProfile('none')
const BODY = randomBytes(1_000_000)
const TEXT = randomBytes(500_000).toString('hex')

/**
 * @param {{
 *   client_edge_rtt_ms?: number,
 *   client_origin_rtt_ms?: number,
 *   origin_uplink_mbit_per_s?: number,
 *   client_uplink_mbit_per_s?: number,
 *   delay_ms?: number,
 *   overhead_ms?: number
 * }} values
 */
const toxics = ({ delay_ms: delay = 0, overhead_ms: overhead = 0, ...links }) =>
  toxicsOf({
    ...none,
    origin: { ...none.origin, delay_ms: delay },
    links: { ...none.links, ...links },
    client: { overhead_ms: overhead }
  })

// The times are checked against lower limits: on a slow machine a link only takes longer.
describe('links', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-links-'))
  const server = http.createServer((incoming, response) => {
    if (incoming.url === '/small') response.end('small')
    else if (incoming.method === 'GET') response.end(BODY)
    else {
      const sha256 = createHash('sha256')
      incoming.on('data', (chunk) => sha256.update(chunk)).on('end', () => response.end(sha256.digest('hex')))
    }
  })
  /** @type {string} */
  let api
  /** @type {Record<string, string>} */
  let url
  /** @type {import('@stevec/harness/processes').ProcessIdentity} */
  let toxiproxy
  before(async () => {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    const upstream = /** @type {import('node:net').AddressInfo} */ (server.address()).port
    const names = Object.keys(toxicsOf(none))
    const ports = await freePorts(names.length + 1)
    url = Object.fromEntries(names.map((name, index) => [name, `http://127.0.0.1:${ports[index]}`]))
    api = await startToxiproxy({
      links: names.map((name, index) => ({ name, listen: ports[index], upstream: `127.0.0.1:${upstream}` })),
      port: ports[names.length],
      logFile: path.join(directory, 'log'),
      outlive: false,
      onStart: (identity) => { toxiproxy = identity }
    })
  })
  after(async () => {
    await stopProcess(toxiproxy)
    server.close()
    rmSync(directory, { recursive: true })
  })

  const timed = async (/** @type {() => Promise<unknown>} */ action) => {
    const startedAt = performance.now()
    await action()
    return performance.now() - startedAt
  }
  /** @param {string} link @param {http.Agent} [agent] @returns {Promise<Buffer>} */
  const download = (link, agent) => new Promise((resolve, reject) => {
    http.get(`${url[link]}/${agent ? 'small' : ''}`, { agent: agent ?? false }, (response) => {
      /** @type {Buffer[]} */
      const chunks = []
      response
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => resolve(Buffer.concat(chunks)))
        .on('error', reject)
    }).on('error', reject)
  })

  /** @param {string} link @returns {Promise<string>} sha256 of what arrived */
  const upload = async (link) => (await request(`${url[link]}/`, { method: 'POST', body: TEXT })).body

  test('carry bytes unchanged, with and without a profile', async () => {
    const sha256 = createHash('sha256').update(TEXT).digest('hex')
    assert.ok(BODY.equals(await download('client-edge')))
    await replaceToxics(api, toxics({
      client_edge_rtt_ms: 5,
      client_origin_rtt_ms: 7,
      origin_uplink_mbit_per_s: 400,
      client_uplink_mbit_per_s: 400,
      delay_ms: 3,
      overhead_ms: 2
    }))
    for (const link of Object.keys(url)) {
      assert.ok(BODY.equals(await download(link)), link)
      assert.equal(await upload(link), sha256, link)
    }
  })

  test('take two round trips for a request on a new connection, and one on an open connection', async () => {
    const rtt = 150
    await replaceToxics(api, toxics({ client_edge_rtt_ms: rtt }))
    assert.ok(await timed(() => request(`${url['client-edge']}/small`)) >= 2 * rtt)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const first = await timed(() => download('client-edge', agent))
    assert.ok(first >= 2 * rtt, `${first} ms`)
    // A new connection takes at least two round trips; an open one takes less once nothing else delays it.
    /** @type {number[]} */
    const next = []
    do {
      next.push(await timed(() => download('client-edge', agent)))
    } while (next[next.length - 1] >= 2 * rtt && next.length < 50)
    agent.destroy()
    assert.ok(next.every((ms) => ms >= rtt) && Math.min(...next) < 2 * rtt, `${next} ms`)
  })

  test('add the origin\'s delay to links to the origin, and the client\'s overhead to links from the client', () => {
    /** @type {(list: import('../src/profile/links.js').Toxic[]) => number} */
    const latency = (list) =>
      list.filter(({ type }) => type === 'latency').reduce((sum, { attributes }) => sum + Number(attributes.latency), 0)
    const asked = toxics({ client_edge_rtt_ms: 9, client_origin_rtt_ms: 17, delay_ms: 100, overhead_ms: 1000 })
    assert.deepEqual(Object.fromEntries(Object.entries(asked).map(([link, list]) => [link, latency(list)])), {
      'client-edge': 1009, 'client-origin': 1117, 'client-local': 1000, 'local-origin': 117, 'edge-origin': 100
    })
  })

  test('share the uplink of the origin among all connections, within one link and across links', async () => {
    // 10 MB/s: 1 MB takes 0.1 s.
    await replaceToxics(api, toxics({ origin_uplink_mbit_per_s: 80 }))
    assert.ok(await timed(() => download('client-origin')) >= 100)
    assert.ok(await timed(() => Promise.all(Array.from({ length: 8 }, () => download('client-origin')))) >= 800)
    assert.ok(
      await timed(() => Promise.all(
        ['client-origin', 'edge-origin', 'local-origin', 'edge-origin'].map((link) => download(link))
      )) >= 400
    )
  })

  test('share the uplink of the client among the requests of all its connections, also through its proxy', async () => {
    // As above.
    await replaceToxics(api, toxics({ client_uplink_mbit_per_s: 80 }))
    assert.ok(await timed(() => upload('client-origin')) >= 100)
    assert.ok(await timed(() => Promise.all(
      ['client-origin', 'client-edge', 'local-origin', 'client-edge'].map((link) => upload(link))
    )) >= 400)
  })

  test('limit each direction alone', () => {
    const limited = toxics({ origin_uplink_mbit_per_s: 48, client_uplink_mbit_per_s: 8 })
    assert.deepEqual(Object.fromEntries(Object.entries(limited).map(([link, list]) => [
      link, list.map(({ stream, attributes }) => `${stream} ${attributes.name} ${attributes.rate}`)
    ])), {
      'client-edge': ['upstream client 1000000'],
      'client-origin': ['upstream client 1000000', 'downstream origin 6000000'],
      'client-local': [],
      'local-origin': ['upstream client 1000000', 'downstream origin 6000000'],
      'edge-origin': ['downstream origin 6000000']
    })
  })

  test('have no delay after the profile is removed', async () => {
    await replaceToxics(api, toxics({ client_edge_rtt_ms: 2_000 }))
    await replaceToxics(api, {})
    assert.ok(await timed(() => request(`${url['client-edge']}/small`)) < 2_000)
  })

  test('report what toxiproxy refuses', async () => {
    await assert.rejects(
      replaceToxics(api, {
        'client-moon': [{ name: 'there', type: 'latency', stream: 'upstream', attributes: { latency: 1 } }]
      }),
      /toxiproxy refused \/proxies\/client-moon\/toxics: .*proxy not found/
    )
  })
})
