import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const ORIGIN_MS = 50
/** Long enough for all waiting requests to have arrived. */
const ALL_ASKED_MS = 2_000

/** @param {Awaited<ReturnType<typeof startEdge>>} edge @param {string} url */
const twenty = (edge, url, headers = {}) => Promise.all(Array.from({ length: 20 }, () => edge.get(url, headers)))

for (const [what, headers] of /** @type {[string, Record<string, string>][]} */ ([
  ['GETs', {}],
  ['GETs with a condition', { 'if-none-match': '"x"' }]
])) {
  test(`simultaneous ${what} of one URL that is not stored share one fetch`, async (t) => {
    const edge = await startEdge(t, (_request, response) => setTimeout(
      () => response.setHeader('Cache-Control', 'max-age=60').end('body'),
      ORIGIN_MS
    ))
    const answers = await twenty(edge, '/', headers)
    assert.equal(edge.reached('/'), 1)
    assert.deepEqual(answers.map(({ cache }) => cache).sort(), [...Array(19).fill('HIT'), 'MISS'])
  })
}

test('without collapsing each request makes its own fetch, and the response is still stored', async (t) => {
  /** @type {(() => void)[]} */
  const held = []
  const edge = await startEdge(t, (_request, response) => {
    // No request is answered before all twenty have arrived.
    if (held.push(() => response.setHeader('Cache-Control', 'max-age=60').end('body')) === 20) {
      for (const answer of held) answer()
    }
  }, { collapse: false })
  const answers = await twenty(edge, '/')
  assert.deepEqual(answers.map(({ cache }) => cache), Array(20).fill('MISS'))
  assert.equal(edge.reached('/'), 20)
  assert.equal((await edge.get('/')).cache, 'HIT')
})

test('simultaneous requests for a large page share one fetch', async (t) => {
  const body = 'x'.repeat(300_000)
  const edge = await startEdge(t, (_request, response) => setTimeout(
    () => response.setHeader('Cache-Control', 'max-age=60').end(body),
    ORIGIN_MS
  ))
  const answers = await twenty(edge, '/')
  assert.equal(edge.reached('/'), 1)
  assert.ok(answers.every((answer) => answer.body === body))
})

test('waiting requests get their response as soon as the fetch ends', async (t) => {
  /** @type {(() => void)[]} */
  const answer = []
  const edge = await startEdge(t, (_request, response) => {
    answer.push(() => response.setHeader('Cache-Control', 'max-age=60').end('body'))
  })
  const first = twenty(edge, '/first')
  await waitUntil(() => answer.length === 1, WAIT_MAX_MS, 5)
  const second = twenty(edge, '/second')
  await waitUntil(() => answer.length === 2, WAIT_MAX_MS, 5)
  // The second fetch ends only after all requests that waited for the first have their responses.
  answer[0]()
  assert.equal((await first).length, 20)
  answer[1]()
  assert.equal((await second).length, 20)
})

test('waiting requests receive a large body while it is still arriving', async (t) => {
  const half = 'x'.repeat(300_000)
  /** @type {http.ServerResponse | undefined} */
  let arriving
  const edge = await startEdge(t, (_request, response) => {
    arriving = response.setHeader('Cache-Control', 'max-age=60').setHeader('Content-Length', String(2 * half.length))
    response.write(half)
  })
  const first = edge.get('/')
  await waitUntil(() => arriving !== undefined, WAIT_MAX_MS, 5)
  /** @type {number[]} */
  const seen = []
  const others = Array.from({ length: 5 }, (_item, index) => new Promise((resolve, reject) => {
    let bytes = 0
    http.get(
      { host: '127.0.0.1', port: edge.port, path: '/', agent: false },
      (response) => response
        .on('error', reject)
        .on('data', (chunk) => {
          bytes += chunk.length
          seen[index] = bytes
        })
        .on('end', () => resolve(`${response.headers['cf-cache-status']} ${bytes}`))
    ).on('error', reject)
  }))
  const halves = () => seen.filter((bytes) => bytes === half.length).length
  assert.ok(await waitUntil(() => halves() === 5, WAIT_MAX_MS, 5), String(seen))
  arriving?.end(half)
  assert.deepEqual(await Promise.all(others), Array(5).fill(`HIT ${2 * half.length}`))
  assert.equal((await first).body, half + half)
  assert.equal(edge.reached('/'), 1)
})

test('if a large body is cut short, all clients that share the fetch get an error', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=60').setHeader('Content-Length', '600000')
    if (count > 1) return response.end('y'.repeat(600_000))
    response.write('x'.repeat(300_000))
    setTimeout(() => response.destroy(), ALL_ASKED_MS)
  })
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => edge.get('/')))
  assert.deepEqual(results.map(({ status }) => status), Array(5).fill('rejected'))
  assert.equal((await edge.get('/')).body, 'y'.repeat(600_000))
})

test('a slow client does not delay the others', async (t) => {
  const body = Buffer.alloc(20_000_000, 'abcdefghij')
  const edge = await startEdge(t, (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end(body))
  const slow = await new Promise((resolve, reject) => http.get(
    { host: '127.0.0.1', port: edge.port, path: '/', agent: false },
    (response) => resolve(response.pause())
  ).on('error', reject))
  assert.equal((await edge.get('/')).body.length, body.length)
  assert.equal(edge.reached('/'), 1)
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of slow) chunks.push(chunk)
  assert.ok(Buffer.concat(chunks).equals(body))
})

test('requests for a page that cannot be shared do not wait for each other', async (t) => {
  let everybody = false
  /** @type {(() => void)[]} */
  const held = []
  const edge = await startEdge(t, (_request, response, count) => {
    const answer = () => response.setHeader('Cache-Control', 'private').end(`body ${count}`)
    if (!everybody) return setTimeout(answer, ORIGIN_MS)
    if (held.push(answer) === 20) for (const each of held) each()
  })
  assert.equal(new Set((await twenty(edge, '/')).map(({ body }) => body)).size, 20)
  // From now on no request waits for another: the origin answers only when all twenty have arrived.
  everybody = true
  await twenty(edge, '/')
  assert.equal(edge.reached('/'), 40)
})

test('all requests that wait for a failed fetch get a 502, without another fetch', async (t) => {
  const edge = await startEdge(t, (request) => setTimeout(() => request.socket.destroy(), ALL_ASKED_MS))
  assert.ok((await twenty(edge, '/')).every(({ status }) => status === 502))
  assert.equal(edge.reached('/'), 1)
})

test('a client that disconnects does not stop the fetch that others wait for', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end('body'), ALL_ASKED_MS)
  })
  const leaving = http.get({ host: '127.0.0.1', port: edge.port, path: '/', agent: false })
  leaving.on('error', () => {})
  await waitUntil(() => edge.reached('/') === 1, WAIT_MAX_MS, 5)
  const waiting = edge.get('/')
  leaving.destroy()
  assert.equal((await waiting).body, 'body')
  assert.equal(edge.reached('/'), 1)
})

test('a request after a purge does not wait for a fetch that started before it', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end(`body ${count}`), ALL_ASKED_MS)
  })
  const before = edge.get('/')
  await waitUntil(() => edge.reached('/') === 1, WAIT_MAX_MS, 5)
  await edge.purge({ purge_everything: true })
  const after = edge.get('/')
  assert.deepEqual([(await before).body, (await after).body], ['body 1', 'body 2'])
  assert.equal((await edge.get('/')).body, 'body 2')
})

test('a request that waits for a stalled fetch starts a new one after 5 s; the worker is not blocked', async (t) => {
  /** @type {(() => void)[]} */
  const held = []
  const edge = await startEdge(t, (request, response) => {
    const answer = () => { response.setHeader('Cache-Control', 'max-age=60').end('body') }
    if (request.url === '/other') answer()
    else held.push(answer)
  })
  const readings = Array.from({ length: 40 }, (_, page) => edge.get(`/${page}`))
  await waitUntil(() => held.length === 40, WAIT_MAX_MS, 5)
  // The requests arrive at different times, so their remaining waits are not whole milliseconds.
  for (let page = 0; page < 40; page++) {
    readings.push(edge.get(`/${page}`))
    await edge.get('/other')
  }
  assert.ok(await waitUntil(() => held.length === 80, 30_000, 5), `${held.length} reached the origin`)
  assert.equal((await edge.get('/other')).status, 200)
  for (const answer of held) answer()
  assert.deepEqual(new Set((await Promise.all(readings)).map(({ body }) => body)), new Set(['body']))
})
