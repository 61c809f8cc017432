import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { byteServer, httpDate, startEdge, WAIT_MAX_MS } from './edge-helper.js'

const LARGE = Buffer.alloc(1_000_000, '0123456789').toString()
const FRESH = { 'cache-control': 'max-age=60', etag: '"one"' }

/**
 * Starts an edge whose origin sends the first `sent` bytes of a body, and the rest when `release` is called.
 * @param {import('node:test').TestContext} t
 * @param {{body?: string, sent?: number, headers?: Record<string, string>}} [options]
 */
async function startHeld (t, { body = LARGE, sent = 200_000, headers = FRESH } = {}) {
  /** @type {(() => void)[]} */
  const held = []
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(200, { 'content-length': body.length, ...headers }).write(body.slice(0, sent))
    held.push(() => response.end(body.slice(sent)))
  })
  return {
    ...edge,
    reaches: () => waitUntil(() => held.length > 0, WAIT_MAX_MS),
    release: () => { for (const send of held.splice(0)) send() }
  }
}

/** @param {import('./edge-helper.js').Answer} answer */
const essence = ({ status, headers, body, cache }) => [status, headers['content-range'], body, cache]

/**
 * Asks for a range of / and returns the response, of which nothing has been read.
 * @param {{port: number}} edge
 * @param {string} range
 * @returns {Promise<http.IncomingMessage>}
 */
const begin = ({ port }, range) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port, agent: false, headers: { range } }, resolve).on('error', reject)
})

for (const [what, body, sent] of /** @type {[string, string, number][]} */ ([
  ['a body that fits in memory', LARGE.slice(0, 1000), 100], ['a large body', LARGE, 200_000]
])) {
  test(`the first client gets its range of ${what} before the rest has arrived, and the whole is stored`, async (t) => {
    const edge = await startHeld(t, { body, sent })
    const range = await edge.get('/', { range: 'bytes=15-24' })
    assert.deepEqual(essence(range), [206, `bytes 15-24/${body.length}`, '5678901234', 'MISS'])
    assert.equal(range.headers['content-length'], '10')
    edge.release()
    const whole = await edge.get('/')
    assert.deepEqual([whole.cache, whole.body === body], ['HIT', true])
    assert.equal(edge.reached('/'), 1)
    assert.equal(edge.arrived[0].headers.range, undefined)
  })
}

test('another client gets its range of a large body that is still arriving', async (t) => {
  const edge = await startHeld(t)
  const whole = edge.get('/')
  await edge.reaches()
  const range = await edge.get('/', { range: 'bytes=150000-150009', 'if-range': '"one"' })
  assert.deepEqual(essence(range), [206, 'bytes 150000-150009/1000000', '0123456789', 'HIT'])
  const late = ['bytes=-5', 'bytes=199998-200001', 'bytes=1000000-'].map((text) => edge.get('/', { range: text }))
  const all = edge.get('/', { range: 'bytes=0-4', 'if-range': '"two"' })
  edge.release()
  assert.deepEqual((await Promise.all(late)).map(essence), [
    [206, 'bytes 999995-999999/1000000', '56789', 'HIT'],
    [206, 'bytes 199998-200001/1000000', '8901', 'HIT'],
    [416, 'bytes */1000000', '', 'HIT']
  ])
  assert.deepEqual([(await all).status, (await all).body === LARGE], [200, true])
  assert.equal((await whole).body, LARGE)
  assert.equal(edge.reached('/'), 1)
})

test('a range behind what has arrived waits for its first byte; one behind the end gets a 416 at once', async (t) => {
  const edge = await startHeld(t)
  assert.deepEqual(essence(await edge.get('/none', { range: 'bytes=1000000-' })), [416, 'bytes */1000000', '', 'MISS'])
  assert.equal((await edge.get('/zero', { range: 'bytes=-0' })).status, 416)
  const suffix = edge.get('/', { range: 'bytes=-5' })
  await waitUntil(() => edge.reached('/') === 1, WAIT_MAX_MS)
  edge.release()
  assert.deepEqual(essence(await suffix), [206, 'bytes 999995-999999/1000000', '56789', 'MISS'])
  assert.equal((await edge.get('/none')).cache, 'HIT')
})

test('a range of a body of unknown length waits for its end', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(200, FRESH).write('01234')
    response.end('56789')
  })
  assert.deepEqual(essence(await edge.get('/', { range: 'bytes=2-4' })), [206, 'bytes 2-4/10', '234', 'MISS'])
  assert.equal(edge.reached('/'), 1)
  assert.deepEqual(essence(await edge.get('/end', { range: 'bytes=-3' })), [206, 'bytes 7-9/10', '789', 'MISS'])
})

describe('a client gets the whole response, once, as it arrives', () => {
  const overlapping = Array.from({ length: 500 }, (_, index) => `0-${index}`).join()
  for (const [what, asked, headers] of /** @type {[string, Record<string, string>, Record<string, string>][]} */ ([
    ['for hundreds of overlapping ranges', { range: `bytes=${overlapping}` }, {}],
    ['for a range of another validator', { range: 'bytes=0-4', 'if-range': '"two"' }, {}],
    ['for a range of a weak validator', { range: 'bytes=0-4', 'if-range': 'W/"one"' }, { etag: 'W/"one"' }],
    ['for a range of a date that may not be the last change of its second',
      { range: 'bytes=0-4', 'if-range': httpDate(0) }, { 'last-modified': httpDate(0), date: httpDate(0) }]
  ])) {
    test(what, async (t) => {
      const edge = await startHeld(t, { body: LARGE.slice(0, 1000), sent: 1000, headers: { ...FRESH, ...headers } })
      const answer = await edge.get('/', asked)
      assert.deepEqual(essence(answer), [200, undefined, LARGE.slice(0, 1000), 'MISS'])
      const again = await edge.get('/', asked)
      assert.deepEqual(essence(again), [200, undefined, LARGE.slice(0, 1000), 'HIT'])
    })
  }
})

test('If-Range with the date of a response that is older than its Last-Modified by a second holds', async (t) => {
  const modified = httpDate(-3600)
  const edge = await startHeld(t, { headers: { 'cache-control': 'max-age=60', 'last-modified': modified } })
  const answer = await edge.get('/', { range: 'bytes=0-4', 'if-range': modified })
  assert.deepEqual([answer.status, answer.body], [206, '01234'])
})

test('numbers of any size in a range are compared with the length', async (t) => {
  const edge = await startHeld(t)
  const many = '9'.repeat(400)
  for (const [range, status] of /** @type {[string, number][]} */ ([
    [`bytes=${many}-`, 416], [`bytes=${many}-${many}`, 416], [`bytes=0-${many}`, 206], [`bytes=-${many}`, 206]
  ])) {
    const answer = edge.get(`/${range.slice(0, 8)}${range.length}`, { range })
    await edge.reaches()
    edge.release()
    assert.equal((await answer).status, status, range)
  }
})

test('a client that leaves, and one that reads nothing, do not hold the fetch', async (t) => {
  const body = Buffer.alloc(24_000_000, '0123456789').toString()
  const edge = await startHeld(t, { body })
  const ask = () => {
    const socket = net.connect(edge.port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(`GET / HTTP/1.1\r\nHost: ${edge.host}\r\nRange: bytes=10-\r\n\r\n`)
    return socket
  }
  const leaving = ask()
  await new Promise((resolve) => leaving.once('data', resolve))
  ask().pause()
  leaving.destroy()
  edge.release()
  const whole = await edge.get('/')
  assert.deepEqual([whole.cache, whole.body === body], ['HIT', true])
  assert.equal(edge.reached('/'), 1)
})

test('a slow reader that started the fetch does not hold it, and gets its whole range', async (t) => {
  const body = Buffer.alloc(24_000_000, '0123456789').toString()
  const edge = await startHeld(t, { body })
  const slow = await begin(edge, 'bytes=5-')
  edge.release()
  assert.equal((await edge.get('/')).body.length, body.length)
  let bytes = 0
  for await (const chunk of slow) bytes += chunk.length
  assert.equal(bytes, body.length - 5)
})

test('an origin that breaks off in the middle of a range: the client sees it, and nothing is stored', async (t) => {
  let breaks = () => {}
  const edge = await startEdge(t, (_request, response, count) => {
    response.writeHead(200, { 'content-length': LARGE.length, ...FRESH })
    if (count > 1) return response.end(LARGE)
    response.write(LARGE.slice(0, 200_000))
    breaks = () => response.destroy()
  })
  const part = await begin(edge, 'bytes=100000-299999')
  assert.equal(part.statusCode, 206)
  breaks()
  await assert.rejects(async () => { for await (const chunk of part) chunk.toString() }, /aborted/)
  assert.equal((await edge.get('/')).cache, 'MISS')
})

test('an origin that breaks off before the range is asked for the range', async (t) => {
  const edge = await startEdge(t, byteServer((socket, head) => {
    socket.end(/\r\nRange: bytes=500-502/i.test(head)
      ? 'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 500-502/1000\r\nContent-Length: 3\r\n\r\nabc'
      : 'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1000\r\n\r\nshort')
  }))
  assert.deepEqual(essence(await edge.get('/', { range: 'bytes=500-502' })), [206, 'bytes 500-502/1000', 'abc', 'MISS'])
})

test('a range behind the bytes of a stalled fetch is asked of the origin', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    if (!request.headers.range) {
      return response.writeHead(200, { ...FRESH, 'content-length': LARGE.length }).write(LARGE.slice(0, 100_000))
    }
    return response.writeHead(206, { ...FRESH, 'content-range': 'bytes 999995-999999/1000000' }).end('56789')
  })
  const range = await edge.get('/', { range: 'bytes=-5' })
  assert.deepEqual(essence(range), [206, 'bytes 999995-999999/1000000', '56789', 'MISS'])
  assert.deepEqual(edge.arrived.map(({ headers }) => headers.range), [undefined, 'bytes=-5'])
})

test('a body that grew too large is fetched whole once, then ranges go to the origin; no hot file is lost', async (t) => {
  const hot = ['/hot1', '/hot2', '/hot3', '/hot4']
  const edge = await startEdge(t, (request, response) => {
    if (hot.includes(String(request.url))) return response.writeHead(200, FRESH).end(LARGE.slice(0, 900_000))
    if (request.headers.range) {
      return response.writeHead(206, { ...FRESH, 'content-range': 'bytes 0-0/2000000' }).end('0')
    }
    response.writeHead(200, FRESH).write(LARGE)
    response.end(LARGE)
  }, { maxSizeBytes: 4_000_000 })
  for (let count = 0; count < 3; count++) {
    assert.deepEqual(essence(await edge.get('/grows', { range: 'bytes=0-0' })).slice(0, 3),
      [206, 'bytes 0-0/2000000', '0'])
  }
  assert.deepEqual(edge.arrived.map(({ headers }) => headers.range), [undefined, ...Array(3).fill('bytes=0-0')])
  for (const url of hot) await edge.get(url)
  for (let count = 0; count < 2; count++) assert.equal((await edge.get('/grows')).body.length, 2_000_000)
  for (const url of hot) assert.equal((await edge.get(url)).cache, 'HIT', url)
})

test('a key that was too large is stored again when its length is known and small enough', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    response.writeHead(200, count === 1 ? FRESH : { ...FRESH, 'content-length': 200_000 })
    if (count === 1) response.write(LARGE)
    response.end(count === 1 ? LARGE : LARGE.slice(0, 200_000))
  }, { maxSizeBytes: 4_000_000 })
  assert.equal((await edge.get('/')).body.length, 2_000_000)
  assert.equal((await edge.get('/')).cache, 'MISS')
  assert.equal((await edge.get('/')).cache, 'HIT')
})
