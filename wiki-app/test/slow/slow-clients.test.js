import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, waitUntil } from '@stevec/harness/processes'
import { createClient } from '../../torture/client.js'
import { createTestbed } from '../../torture/testbed.js'

const READERS = 4
const READ_EVERY_MS = 50
const READS = 40
const WAIT_MAX_MS = 60_000
const LARGE_BYTES = 900_000

/**
 * Creates clients that read, and save every tenth time, each on its own connection and with short pauses.
 * @param {string} url
 */
function createVisitors (url) {
  const client = createClient(url, READERS)
  /** @type {number[]} */
  const durationsMs = []
  /** @type {string[]} */
  const failed = []
  return {
    /** @param {number} count  visits of each */
    visit: (count) => Promise.all(Array.from({ length: READERS }, async (_, reader) => {
      for (let index = 0; index < count; index++) {
        const askedAt = performance.now()
        const saves = index % 10 === 0
        const { status } = saves
          ? await client
            .ask('PUT', `/api/v1/pages/visitor%20${reader}`, { json: { content: `text ${index}` } })
            .catch(({ message }) => ({ status: message }))
          : await client.ask('GET', '/wiki/small').catch(({ message }) => ({ status: message }))
        if (saves ? status !== 200 && status !== 201 : status !== 200) failed.push(String(status))
        else if (!saves) durationsMs.push(performance.now() - askedAt)
        await sleep(READ_EVERY_MS)
      }
    })),
    /** Returns the results of the visits since the last call. */
    take () {
      const sorted = durationsMs.splice(0).sort((a, b) => a - b)
      return { failed: failed.splice(0), reads: sorted.length, p99Ms: sorted[Math.ceil(0.99 * sorted.length) - 1] }
    },
    close: () => client.close()
  }
}

/**
 * Opens connections and keeps them open: `begin` runs once on each, and `goOn` every second.
 * @param {string} url
 * @param {number} count
 * @param {(socket: import('node:net').Socket) => void} begin
 * @param {(socket: import('node:net').Socket) => void} [goOn]
 */
async function keep (url, count, begin, goOn = () => {}) {
  const { hostname, port } = new URL(url)
  /** @type {Set<import('node:net').Socket>} */
  const open = new Set()
  // Few enough that opening them does not overload the wiki by itself.
  const atOnce = 20
  for (let index = 0; index < count; index += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - index) }, async () => {
      const socket = connect(Number(port), hostname)
      open.add(socket)
      socket.once('close', () => open.delete(socket)).on('error', () => {})
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      begin(socket)
    }))
  }
  const timer = setInterval(() => { for (const socket of open) if (!socket.destroyed) goOn(socket) }, 1_000)
  return {
    open: () => open.size,
    end () {
      clearInterval(timer)
      for (const socket of open) socket.destroy()
    }
  }
}

const HEAD = 'Host: source.localhost\r\n'
/**
 * For each: name, number of connections, what a connection does first, and what it does every second.
 * @type {[
 *   string, number, (socket: import('node:net').Socket) => void, ((socket: import('node:net').Socket) => void)?
 * ][]}
 */
const CROWDS = [
  [
    '2000 clients that send a header byte by byte',
    2_000,
    (socket) => socket.write(`GET /wiki/small HTTP/1.1\r\n${HEAD}X-Slow: `),
    (socket) => socket.write('x')
  ],
  [
    '500 clients that send a page byte by byte',
    500,
    (socket) => socket.write(
      `PUT /api/v1/pages/slow HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`
    ),
    (socket) => socket.write(' ')
  ],
  // The client reads nothing beyond what fits into the kernel's buffers.
  [
    '300 clients that request a large page and do not read it',
    300,
    (socket) => { socket.pause().write(`GET /wiki/large HTTP/1.1\r\n${HEAD}\r\n`) }
  ],
  [
    '500 clients that send endless headers',
    500,
    (socket) => { socket.write(`GET / HTTP/1.1\r\n${HEAD}X-Long: ${'x'.repeat(100_000)}`) },
    (socket) => socket.write('x'.repeat(10_000))
  ],
  [
    '10 000 clients that keep their connection after one request',
    10_000,
    (socket) => { socket.resume().write(`GET /healthz HTTP/1.1\r\n${HEAD}\r\n`) }
  ],
  ['10 000 clients that send nothing', 10_000, (socket) => { socket.resume() }]
]

test('reads and edits succeed while thousands of other clients are slow or idle ' +
  'or send endless headers', { timeout: 300_000 }, async (t) => {
  const testbed = await createTestbed({ behindNginx: true, requestsAtOnceMax: 256 })
  t.after(() => testbed.remove())
  await testbed.start()
  const setUp = createClient(testbed.url, 1)
  await setUp.ask('PUT', '/api/v1/pages/small', { json: { content: 'small' } })
  assert.equal((await setUp.ask('PUT', '/api/v1/pages/large', {
    json: { content: 'words and words\n\n'.repeat(LARGE_BYTES / 17) }
  })).status, 201)
  setUp.close()
  const visitors = createVisitors(testbed.url)
  t.after(() => visitors.close())
  await visitors.visit(READS / 4)
  t.diagnostic(`before: p99 ${visitors.take().p99Ms.toFixed(0)} ms`)

  for (const [name, count, begin, goOn] of CROWDS) {
    const crowd = await keep(testbed.url, count, begin, goOn)
    t.after(crowd.end)
    // The wiki may refuse some requests while the crowd sends its own. The test is about the time after this burst.
    assert.ok(await waitUntil(async () => {
      await visitors.visit(5)
      return visitors.take().failed.length === 0
    }, WAIT_MAX_MS), name)
    await visitors.visit(READS)
    const open = crowd.open()
    const { failed, reads, p99Ms } = visitors.take()
    t.diagnostic(`${name}: p99 ${p99Ms.toFixed(0)} ms, ${open} of their connections still open`)
    assert.deepEqual(failed, [], name)
    assert.equal(reads, 0.9 * READERS * READS)
    // New connections are served, too.
    const late = createVisitors(testbed.url)
    await late.visit(1)
    assert.deepEqual(late.take().failed, [], name)
    late.close()
    crowd.end()
    assert.ok(isAlive(testbed.nginx()))
    assert.ok(await waitUntil(() => crowd.open() === 0, WAIT_MAX_MS))
  }
})

test('the wiki without nginx keeps answering beside 10 000 idle connections', { timeout: 300_000 }, async (t) => {
  const testbed = await createTestbed()
  t.after(() => testbed.remove())
  await testbed.start()
  const visitors = createVisitors(testbed.url)
  t.after(() => visitors.close())
  const setUp = createClient(testbed.url, 1)
  await setUp.ask('PUT', '/api/v1/pages/small', { json: { content: 'small' } })
  setUp.close()
  const crowd = await keep(testbed.url, 10_000, (socket) => { socket.resume() })
  t.after(crowd.end)
  await visitors.visit(READS)
  const { failed, p99Ms } = visitors.take()
  t.diagnostic(`p99 ${p99Ms.toFixed(0)} ms, ${crowd.open()} of their connections still open`)
  assert.deepEqual(failed, [])
})
