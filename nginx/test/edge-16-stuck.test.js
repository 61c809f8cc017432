import assert from 'node:assert/strict'
import { readdirSync, unlinkSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/** Without a purge a request that waits for another's fetch starts its own after 5 s. */
const SOON_MS = 4_000
const CONNECTIONS = 64
/** @param {string} text */
const withFew = (text) => text.replace(/worker_connections \d+/, `worker_connections ${CONNECTIONS}`)
const LARGE = 'x'.repeat(200_000)

/** @param {Edge} edge */
function evictAll (edge) {
  const folder = path.join(edge.directory, 'answers')
  for (const file of readdirSync(folder).filter((name) => /^\d+$/.test(name))) unlinkSync(path.join(folder, file))
}

test('a large body that was evicted is fetched again without revalidation', async (t) => {
  const edge = await startEdge(t, ({ headers }, response) => {
    response.setHeader('Cache-Control', 'max-age=1').setHeader('ETag', '"1"')
    if (headers['if-none-match']) response.writeHead(304).end()
    else response.end(LARGE)
  })
  await edge.get('/')
  await passing(1_050)
  assert.equal((await edge.get('/')).cache, 'REVALIDATED', 'the body is still stored')
  await passing(1_050)
  evictAll(edge)
  assert.equal((await edge.get('/')).body, LARGE)
  assert.equal(edge.arrived.at(-1)?.headers['if-none-match'], undefined)
})

test('a large body that is evicted during its revalidation is fetched again', async (t) => {
  const edge = await startEdge(t, ({ headers }, response) => {
    response.setHeader('Cache-Control', 'max-age=1').setHeader('ETag', '"1"')
    if (!headers['if-none-match']) return response.end(LARGE)
    evictAll(edge)
    response.writeHead(304).end()
  })
  await edge.get('/')
  await passing(1_050)
  const { status, body } = await edge.get('/')
  assert.deepEqual([status, body], [200, LARGE])
})

/**
 * Opens connections until the edge can accept only `spared` more.
 * @param {import('node:test').TestContext} t
 * @param {Edge} edge
 * @param {number} spared
 */
async function exhaust (t, edge, spared) {
  /** @type {Set<net.Socket>} */
  const open = new Set()
  const release = () => { for (const socket of open) socket.destroy() }
  t.after(release)
  for (let tries = 0; tries < 4 * CONNECTIONS; tries++) {
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.on('error', () => {})
    open.add(socket)
    // nginx does not drop a connection whose request body is pending in favour of another.
    const full = await new Promise((resolve) => {
      socket.once('close', () => resolve(true))
      socket.once('connect', () => {
        socket.write(`POST / HTTP/1.1\r\nHost: ${edge.host}\r\nContent-Length: 9\r\n\r\n`)
        setTimeout(() => resolve(false), 20)
      })
    })
    if (!full) continue
    open.delete(socket)
    for (const spare of [...open].slice(0, spared)) {
      open.delete(spare)
      const closed = new Promise((resolve) => spare.once('close', resolve))
      spare.destroy()
      await closed
    }
    await passing(100)
    return { release }
  }
  throw new Error('the edge still accepts connections')
}

/** @type {import('./edge-helper.js').Script} */
const counted = (_request, response, count) => {
  // No idle connection remains that nginx could drop.
  response.setHeader('Connection', 'close')
    .setHeader('Cache-Control', 'max-age=1, stale-while-revalidate=600')
    .end(`body ${count}`)
}
const DROPPED = /could not create fake connection/

for (const first of [true, false]) {
  test(`without a free connection a fetch gets a 502; its key recovers${first ? ' (first fetch)' : ''}`, async (t) => {
    const edge = await startEdge(t, counted, { workers: 1, configure: withFew })
    if (!first) await edge.get('/warm')
    const { release } = await exhaust(t, edge, 1)
    assert.equal((await edge.get('/')).status, 502, 'no connection to the origin is left either')
    if (!first) assert.match(edge.errors(), DROPPED)
    release()

    const answers = await Promise.all([1, 2, 3].map(() => edge.get('/')))
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200])
    assert.equal(edge.reached('/'), 1, 'the requests share one fetch')
  })
}

test('a background refresh that gets no connection is repeated later', async (t) => {
  const edge = await startEdge(t, counted, { workers: 1, configure: withFew })
  await edge.get('/')
  await passing(1_050)
  const { release } = await exhaust(t, edge, 1)
  // A second request keeps its connection in use after the first response.
  const reader = net.connect(edge.port, '127.0.0.1', () => {
    reader.write(
      `GET / HTTP/1.1\r\nHost: ${edge.host}\r\n\r\nPOST / HTTP/1.1\r\nHost: ${edge.host}\r\nContent-Length: 9\r\n\r\n`
    )
  })
  t.after(() => reader.destroy())
  const answer = await new Promise((resolve) => reader.once('data', (data) => resolve(String(data))))
  assert.match(answer, /CF-Cache-Status: UPDATING/)
  assert.ok(await waitUntil(() => DROPPED.test(edge.errors()), WAIT_MAX_MS))
  assert.equal(edge.reached('/'), 1)
  release()

  assert.ok(await waitUntil(async () => (await edge.get('/')).body === 'body 2', WAIT_MAX_MS))
})

test('requests that wait for a stalled fetch start only one new fetch together', async (t) => {
  /** @type {http.ServerResponse[]} */
  const held = []
  const edge = await startEdge(t, (_request, response, count) => {
    if (count === 1) return held.push(response)
    setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end('body'), 500)
  })
  const first = edge.get('/')
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  const others = await Promise.all(Array.from({ length: 10 }, () => edge.get('/')))
  assert.deepEqual([...new Set(others.map(({ body }) => body))], ['body'])
  assert.equal(edge.reached('/'), 2)
  held[0].setHeader('Cache-Control', 'max-age=60').end('late')
  assert.equal((await first).body, 'late')
  assert.equal((await edge.get('/')).body, 'body', 'the response of the later fetch stays stored')
})

test('a slow client does not delay the others when the body has no Content-Length', async (t) => {
  const piece = Buffer.alloc(100_000, 'abcdefghij')
  const pieces = 200
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
    let sent = 0
    const more = () => {
      while (sent < pieces) {
        sent++
        if (!response.write(piece)) return response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const slow = await new Promise((resolve, reject) => http.get(
    { host: '127.0.0.1', port: edge.port, path: '/', agent: false },
    (response) => resolve(response.pause())
  ).on('error', reject))
  assert.equal((await edge.get('/')).body.length, pieces * piece.length)
  assert.equal(edge.reached('/'), 1)
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of slow) chunks.push(chunk)
  const whole = Buffer.concat(chunks)
  assert.equal(whole.length, pieces * piece.length)
  assert.ok(whole.equals(Buffer.concat(Array(pieces).fill(piece))))
})

for (const [what, purge, fetches] of /** @type {[string, (host: string) => object, number][]} */ ([
  ['another URL', (host) => ({ files: [`http://${host}/other`] }), 1],
  ['another host', () => ({ hosts: ['example.org'] }), 1],
  ['another prefix', (host) => ({ prefixes: [`${host}/other`] }), 1],
  ['its URL', (host) => ({ files: [`http://${host}/page`] }), 2],
  ['its host', () => ({ hosts: ['127.0.0.1'] }), 2],
  ['a prefix of its URL', (host) => ({ prefixes: [`${host}/pa`] }), 2],
  ['everything', () => ({ purge_everything: true }), 2],
  ['a tag before the response arrives', () => ({ tags: ['any'] }), 2]
])) {
  for (const soft of [false, true]) {
    test(`a ${soft ? 'soft ' : ''}purge of ${what} ${fetches === 1 ? 'lets later requests share the running fetch' : 'makes later requests start a new fetch'}`, async (t) => {
      /** @type {http.ServerResponse[]} */
      const held = []
      const edge = await startEdge(t, (_request, response) => { held.push(response) })
      const first = edge.get('/page')
      assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
      await edge.purge({ ...purge(edge.host), ...(soft && { invalidate_cache: true }) })
      const second = edge.get('/page')
      if (fetches === 2) assert.ok(await waitUntil(() => held.length === 2, SOON_MS))
      else await passing(300)
      for (const [index, response] of held.entries()) {
        response.setHeader('Cache-Control', 'max-age=60').end(`body ${index + 1}`)
      }
      assert.deepEqual([(await first).body, (await second).body, held.length], ['body 1', `body ${fetches}`, fetches])
    })
  }
}

test('requests whose fetch is purged while they wait start only one new fetch together', async (t) => {
  /** @type {http.ServerResponse[]} */
  const held = []
  const edge = await startEdge(t, (_request, response) => { held.push(response) })
  const waiting = Array.from({ length: 10 }, () => edge.get('/'))
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  await passing(300)
  await edge.purge({ tags: ['any'] })
  await edge.purge({ purge_everything: true })
  held[0].setHeader('Cache-Control', 'max-age=60').end('purged')
  assert.ok(await waitUntil(() => held.length === 2, WAIT_MAX_MS))
  await passing(300)
  held[1].setHeader('Cache-Control', 'max-age=60').end('new')
  const bodies = (await Promise.all(waiting)).map(({ body }) => body)
  assert.deepEqual([bodies.filter((body) => body === 'new').length, held.length], [9, 2])
})

test('once the tags of a fetch are known, only a purge of one of them stops others from sharing it', async (t) => {
  /** @type {http.ServerResponse[]} */
  const held = []
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
      .setHeader('Cache-Tag', 'own')
      .setHeader('Content-Length', '4')
      .write('bo')
    held.push(response)
    // To another worker, the fetch may have any tag.
  }, { workers: 1 })
  const first = edge.get('/')
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  await passing(300)
  await edge.purge({ tags: ['other'] })
  const second = edge.get('/')
  await passing(300)
  assert.equal(held.length, 1)
  await edge.purge({ tags: ['own'] })
  const third = edge.get('/')
  assert.ok(await waitUntil(() => held.length === 2, SOON_MS))
  for (const response of held.reverse()) response.end('dy')
  for (const answer of [first, second, third]) assert.equal((await answer).body, 'body')
})
