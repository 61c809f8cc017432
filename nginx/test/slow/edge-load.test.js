import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { mountDisk } from '../disk.js'
import { startEdge, WAIT_MAX_MS } from '../edge-helper.js'

const WORKER_CONNECTIONS = 4_096
const CONNECTIONS = WORKER_CONNECTIONS + 10_000
const AT_ONCE = 500
const KEYS = 200
const LOAD_MS = 15_000
const BYTE_EVERY_MS = 300
/**
 * Once it has room again, it has enough for all responses of the test, also when a slow machine still serves the load's
 * connections meanwhile. A file that one worker evicts takes room until the other one has closed it, a second later.
 */
const DISK_BYTES = 64 * 1024 ** 2
const BODY = 'x'.repeat(3_000)
/** Each connection needs a file descriptor here; those of the origin do, too. */
const descriptors = Number(spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout) || Infinity
const skip = descriptors < CONNECTIONS + 2 * KEYS &&
  `${CONNECTIONS} connections need as many descriptors; ulimit -n says ${descriptors}`

/** @param {string} directory */
function fill (directory) {
  const { bavail, bsize } = statfsSync(directory)
  const filler = path.join(directory, 'filler')
  writeFileSync(filler, Buffer.alloc(bavail * bsize))
  return () => unlinkSync(filler)
}

/**
 * Opens clients that request pages and disconnect, immediately or later, or never send their whole request.
 * @param {number} port
 */
function flood (port) {
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  let opened = 0
  const open = () => {
    const number = opened++
    const socket = net.connect(port, '127.0.0.1')
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket)).resume()
    const page = `/${number % KEYS}`
    const request = `GET ${page} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`
    if (number % 3 === 0) socket.write(`POST ${page} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 9\r\n\r\n`)
    else if (number % 3 === 1) socket.write(`${request}\r\n`, () => { setTimeout(() => socket.destroy(), number % 50) })
    else socket.write(`${request}\r\n`)
  }
  const timer = setInterval(() => {
    for (let count = 0; count < AT_ONCE && sockets.size < CONNECTIONS; count++) open()
  }, 100)
  return {
    most: () => opened,
    end () {
      clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    }
  }
}

test('every key answers, collapses and refreshes again after too many clients, a stalling origin and a full disk', {
  skip,
  timeout: 400_000
}, async (t) => {
  const disk = mountDisk(t, DISK_BYTES)
  let stalling = false
  /** @type {Set<import('node:http').ServerResponse>} */
  const stalled = new Set()
  const head = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=2, stale-while-revalidate=600\r\nContent-Length: 3000\r\n\r\n'
  const edge = await startEdge(t, (_request, response, count) => {
    if (!stalling) {
      response.setHeader('Cache-Control', 'max-age=2, stale-while-revalidate=600').setHeader('ETag', `"${count}"`)
      return response.end(BODY)
    }
    stalled.add(response)
    const bytes = head + BODY
    let sent = 0
    const timer = setInterval(() => { response.socket?.write(bytes[sent++]) }, BYTE_EVERY_MS)
    response.on('close', () => { clearInterval(timer); stalled.delete(response) })
  }, {
    cacheDirectory: disk ?? undefined,
    configure: (text) => text.replace(/worker_connections \d+/, `worker_connections ${WORKER_CONNECTIONS}`)
  })
  const workers = edge.workers()
  // One half of the pages is cached, and stale when the load starts.
  const pages = Array.from({ length: KEYS }, (_, index) => `/${index}`)
  for (const page of pages.slice(0, KEYS / 2)) await edge.get(page)

  stalling = true
  const makeRoom = disk === null ? () => {} : fill(disk)
  const load = flood(edge.port)
  assert.ok(await waitUntil(() => load.most() >= CONNECTIONS, WAIT_MAX_MS), 'all connections were opened')
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS))
  load.end()
  for (const response of stalled) response.socket?.destroy()
  stalling = false
  makeRoom()

  const endedMs = performance.now()
  let slowestMs = 0
  for (const page of pages) {
    const asked = await waitUntil(async () => {
      const startedMs = performance.now()
      const answers = await Promise.all([1, 2, 3].map(() => edge.get(page).catch(() => null)))
      slowestMs = Math.max(slowestMs, performance.now() - startedMs)
      return answers.every((answer) => answer?.status === 200 && answer.body === BODY)
    }, WAIT_MAX_MS)
    assert.ok(asked, `${page} does not answer:\n${edge.errors().slice(-2_000)}`)
  }
  const answeredMs = performance.now() - endedMs
  await edge.purge({ purge_everything: true })
  for (const page of pages) {
    const before = edge.reached(page)
    const answers = await Promise.all([1, 2, 3].map(() => edge.get(page)))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], page)
    assert.equal(edge.reached(page), before + 1, `${page} is fetched once`)
  }
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  for (const page of pages) {
    const before = edge.reached(page)
    assert.equal((await edge.get(page)).cache, 'UPDATING')
    assert.ok(await waitUntil(() => edge.reached(page) === before + 1, WAIT_MAX_MS), `${page} is refreshed`)
  }
  assert.deepEqual(edge.workers(), workers, 'no worker has died')
  t.diagnostic(
    `${load.most()} connections were opened; ${KEYS} pages answered ${Math.round(answeredMs)} ms after the load, ` +
    `the slowest three at once in ${Math.round(slowestMs)} ms`
  )
})
