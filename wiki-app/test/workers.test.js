import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { createTally } from '../src/process/tally.js'
import { createClient } from '../torture/client.js'
import { createTestbed } from '../torture/testbed.js'

/** @typedef {import('../src/counter.js').Count} Count */

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const WORKERS = 3
const WAIT_MAX_MS = 60_000

const reads = (/** @type {number} */ requests) => ({ requests, reads: requests, writes: 0 })

describe('the tally of several processes', () => {
  /** Creates a member that only records which readings ask it. */
  const member = () => {
    /** @type {number[]} */
    const asked = []
    return { asked, ask: (/** @type {number} */ reading) => { asked.push(reading) } }
  }

  test('a reading waits for all members; a late count is in the next reading, and none is in two', async () => {
    const tally = createTally({ answerMaxMs: 20 })
    const [a, b] = [member(), member()]
    tally.join(a)
    tally.join(b)
    const first = tally.read({ take: true })
    tally.report(a, a.asked[0], reads(3))
    assert.equal(await first, null, 'b is stuck')
    tally.report(b, b.asked[0], reads(4))

    const [peek, second, third] = [tally.read({ take: false }), tally.read({ take: true }), tally.read({ take: true })]
    for (const each of [a, b]) for (const reading of each.asked.slice(1)) tally.report(each, reading, reads(1))
    const counts = (await Promise.all([peek, second, third])).map((reading) => reading?.count.requests)
    assert.equal(Number(counts[1]) + Number(counts[2]), 3 + 4 + 6)
    assert.ok(Number(counts[0]) >= 3 + 4, 'a reading with `take: false` does not reset the counts')
  })

  test('a member that leaves hands over its count; a lost one does not, and the instance changes', async () => {
    const tally = createTally()
    const [a, b, c] = [member(), member(), member()]
    for (const each of [a, b, c]) tally.join(each)
    const first = tally.read({ take: true })
    tally.report(a, 1, reads(1))
    tally.leave(b, reads(2))
    tally.lose(b)
    tally.report(c, 1, reads(4))
    assert.equal((await first)?.count.requests, 7)
    assert.equal((await first)?.total.requests, 7)

    const second = tally.read({ take: true })
    tally.report(a, 2, reads(1))
    tally.lose(c)
    assert.equal((await second)?.count.requests, 1)
    assert.equal((await second)?.total.requests, 8, 'the total goes on after a reading')
    assert.notEqual((await second)?.instance, (await first)?.instance)
  })
})

describe(`a wiki of ${WORKERS} processes`, () => {
  /** @type {import('../torture/testbed.js').Testbed} */
  let testbed
  /** @type {number} */
  let metricsPort
  before(async () => {
    [metricsPort] = await freePorts(1)
    testbed = await createTestbed({ settings: { WORKERS: String(WORKERS), METRICS_PORT: String(metricsPort) } })
    await testbed.start()
    assert.ok(await waitUntil(() => testbed.log().includes('wiki listening on '), WAIT_MAX_MS), 'all workers listen')
    assert.equal(testbed.workers().length, WORKERS)
  })
  after(() => testbed.remove())

  /** @param {import('../torture/client.js').Client} client */
  async function read (client) {
    const { status, headers, body } = await client.ask('GET', '/wiki/stevec')
    assert.equal(status, 200, body)
    return { instance: String(headers['counter-instance']), count: /** @type {Count} */ (JSON.parse(body)) }
  }

  const sum = (/** @type {{count: Count}[]} */ readings) => readings.reduce((total, { count }) => ({
    requests: total.requests + count.requests,
    reads: total.reads + count.reads,
    writes: total.writes + count.writes
  }), { requests: 0, reads: 0, writes: 0 })

  /**
   * Creates clients with one connection each. One worker serves all requests of a connection; the workers take the
   * connections in turn.
   * @param {import('node:test').TestContext} t
   * @param {number} count
   */
  async function clients (t, count) {
    const all = Array.from({ length: count }, () => createClient(testbed.url, 1))
    t.after(() => { for (const client of all) client.close() })
    for (const client of all) assert.equal((await client.ask('GET', '/healthz')).status, 200)
    return all
  }

  test('counter readings at random moments, by any worker, add up to the requests sent', async (t) => {
    const all = await clients(t, 2 * WORKERS)
    const start = await read(all[0])
    /** @type {Awaited<ReturnType<typeof read>>[]} */
    const readings = []
    let sent = 0
    await Promise.all(all.map(async (client, number) => {
      for (let index = 0; index < 20; index++) {
        if (Math.random() < 0.3) readings.push(await read(client))
        sent++
        if (index % 5 === 0) {
          await client.ask('PUT', `/api/v1/pages/counted%20${number}`, { json: { content: `text ${index}` } })
        } else await client.ask('GET', ['/wiki/counted%200', '/nowhere', '/'][index % 3])
      }
    }))
    const peek = await all[1].ask('HEAD', '/wiki/stevec')
    assert.equal(peek.status, 200)
    readings.push(await read(all[WORKERS - 1]))
    assert.equal(sent, 120)
    assert.deepEqual(sum(readings), { requests: 120, reads: 96, writes: 24 })
    assert.deepEqual([...new Set(readings.map(({ instance }) => instance))], [start.instance])
    assert.deepEqual((await read(all[0])).count, reads(0))
  })

  test('a killed worker loses only its own unread count, the instance changes, ' +
    'and a new worker replaces it, metrics included', async (t) => {
    const all = await clients(t, WORKERS)
    const first = await read(all[0])
    const before = testbed.workers()
    // Counts that differ, so that the rest shows whose count was lost.
    const made = [1, 2, 4]
    for (const [number, client] of all.entries()) {
      for (let index = 0; index < made[number]; index++) await client.ask('GET', '/nowhere')
    }
    process.kill(before[1], 'SIGKILL')
    assert.ok(await waitUntil(() => /"worker":2,.*a worker has been replaced/.test(testbed.log()), WAIT_MAX_MS))
    assert.equal(testbed.workers().length, WORKERS)

    const [client] = await clients(t, 1)
    const after = await read(client)
    assert.ok(made.some((lost) => after.count.requests === 7 - lost), JSON.stringify(after))
    assert.deepEqual(after.count, reads(after.count.requests))
    assert.notEqual(after.instance, first.instance)

    const more = await clients(t, 2 * WORKERS)
    for (const each of more) await each.ask('GET', '/nowhere')
    assert.deepEqual(await read(client), { instance: after.instance, count: reads(2 * WORKERS) })
    assert.match(testbed.log(), /a worker has ended; another one is started in 100 ms/)
    const { processes } = JSON.parse((await client.ask('GET', '/status.json')).body).services[0]
    assert.deepEqual(processes.map((/** @type {any} */ { name, status, restarts }) => [name, status, restarts]),
      [['process 1', 'ok', 0], ['process 2', 'ok', 1], ['process 3', 'ok', 0]])

    const text = await waitUntil(async () => {
      const answer = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      return new Set(
        [...answer.matchAll(/^wiki_database_up\{worker="(\d)"\} 1$/gm)].map(([, worker]) => worker)
      ).size === WORKERS && answer
    }, WAIT_MAX_MS)
    assert.ok(text, 'the metrics of each worker have their own label')
    const counted = text.split('\n').filter((line) =>
      line.startsWith('wiki_http_request_duration_seconds_count{') && line.includes('route="none"'))
    assert.deepEqual(
      counted.map((line) => /worker="(\d)"/.exec(line)?.[1]).sort(),
      Array.from({ length: WORKERS }, (_, index) => String(index + 1))
    )
  })

  test('each worker counts its own page views in the metrics', async (t) => {
    const counted = new RegExp(String.raw`^wiki_http_request_duration_seconds_count\{(?=.*route="/wiki/\*")` +
      String.raw`(?=.*method="GET")(?=.*status_class="2xx").*worker="(\d)".*\} (\d+)$`, 'gm')
    const views = async () => [...(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
      .matchAll(counted)]
      .map(([, , count]) => Number(count))
    const all = await clients(t, WORKERS)
    await all[0].ask('PUT', '/api/v1/pages/viewed', { json: { content: 'text' } })
    const before = await views()
    for (const client of all) {
      for (let time = 0; time < 5; time++) assert.equal((await client.ask('GET', '/wiki/viewed')).status, 200)
    }
    const after = await views()
    const total = (/** @type {number[]} */ counts) => counts.reduce((sum, count) => sum + count, 0)
    assert.equal(total(after) - total(before), 5 * WORKERS)
    assert.equal(after.length, WORKERS)
  })

  test('a worker that ends after SIGTERM loses no count', async (t) => {
    const all = await clients(t, WORKERS)
    const { instance } = await read(all[0])
    for (const client of all) await client.ask('GET', '/nowhere')
    const [ended] = testbed.workers()
    process.kill(ended, 'SIGTERM')
    assert.ok(await waitUntil(() => /"worker":1,.*a worker has been replaced/.test(testbed.log()), WAIT_MAX_MS))
    const [client] = await clients(t, 1)
    assert.deepEqual(await read(client), { instance, count: reads(WORKERS) })
  })

  test('after SIGTERM to the primary and to each worker, requests in flight are completed and all end', async (t) => {
    const workers = testbed.workers()
    const { pid } = testbed.wiki() ?? { pid: 0 }
    const bodies = Array.from({ length: WORKERS }, () => openRequest(Number(new URL(testbed.url).port)))
    t.after(() => { for (const { abort } of bodies) abort() })
    await Promise.all(bodies.map(({ begun }) => begun))
    for (const each of [pid, ...workers]) process.kill(each, 'SIGTERM')
    assert.ok(
      await waitUntil(() => refuses(Number(new URL(testbed.url).port)), WAIT_MAX_MS),
      'new connections are refused'
    )
    const statuses = await Promise.all(bodies.map(({ finish }) => finish()))
    assert.deepEqual(statuses.sort(), [200, 200, 201], 'one created the page, the others replaced it')
    assert.ok(await waitUntil(() => [pid, ...workers].every(isGone), WAIT_MAX_MS), 'all processes have ended')
    await testbed.startWiki(0, '/readyz')
  })

  test('workers end when their primary is killed', async () => {
    // The wiki is ready as soon as one worker is: the others may still start.
    assert.ok(await waitUntil(() => testbed.workers().length === WORKERS, WAIT_MAX_MS))
    const workers = testbed.workers()
    await testbed.killWiki()
    assert.ok(await waitUntil(() => workers.every(isGone), WAIT_MAX_MS))
  })
})

test('with several workers a port in use ends the wiki with exit code 1 and one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => { other.close() })
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address())
  const [nothing] = await freePorts(1)
  const child = spawn(process.execPath, [SERVER], {
    env: {
      PATH: process.env.PATH,
      WORKERS: '2',
      PORT: String(port),
      LOG_LEVEL: 'fatal',
      MONGODB_URI: `mongodb://127.0.0.1:${nothing}/wiki`
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text })
  const [code] = await once(child, 'close')
  assert.equal(code, 1)
  assert.equal(
    stderr,
    `wiki: port ${port} on 127.0.0.1 is already in use; free it, or choose another with PORT (0 takes any free one)\n`
  )
})

/** @param {number} port */
const refuses = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => { socket.destroy(); resolve(false) }).once('error', () => resolve(true))
})

/** @param {number} pid */
function isGone (pid) {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

/**
 * Sends the head of a request that changes a page, on its own connection. `finish` sends the body.
 * @param {number} port
 */
function openRequest (port) {
  const sent = request({
    port,
    host: '127.0.0.1',
    agent: false,
    method: 'POST',
    path: '/wiki/in%20flight',
    headers: { 'content-type': 'text/markdown', 'content-length': '8', expect: '100-continue' }
  })
  const answered = once(sent, 'response')
  sent.flushHeaders()
  return {
    begun: once(sent, 'continue'),
    abort: () => sent.destroy(),
    /** @returns {Promise<number>} status */
    async finish () {
      sent.end('all text')
      const [response] = await answered
      response.resume()
      await once(response, 'end')
      return response.statusCode
    }
  }
}
