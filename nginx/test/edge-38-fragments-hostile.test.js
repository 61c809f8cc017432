import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { httpDate, startEdge, WAIT_MAX_MS } from './edge-helper.js'
import { answerRange, textOf } from './ranged-origin.js'

const STANDARD = { profile: /** @type {const} */ ('rfc9111'), maxSizeBytes: 4_000_000 }
const OBJECT_BYTES_MAX = STANDARD.maxSizeBytes / 4
const BODY = textOf(1000)
const OTHER = textOf(1000, 1)
const FRESH = { 'cache-control': 'max-age=60', etag: '"one"' }
/** The connection ends before the whole response. */
const BROKEN = /aborted|hang up/
const ONE = { body: BODY, etag: '"one"' }

/** @param {import('./edge-helper.js').Answer} answer */
const essence = ({ status, headers, body, cache }) => [status, headers['content-range'], body, cache]

describe('an origin that lies, or says too little', () => {
  /** @type {Awaited<ReturnType<typeof startEdge>>} */
  let edge
  /** @type {import('./edge-helper.js').Script} */
  let script
  let url = '/0'
  before(async () => {
    edge = await startEdge(null, (request, response, count) => script(request, response, count), STANDARD)
  })
  after(() => edge.stop())
  beforeEach(() => { url = `/${Number(url.slice(1)) + 1}` })
  const range = (/** @type {string} */ text, headers = {}) => edge.get(url, { range: `bytes=${text}`, ...headers })

  const PART = { ...FRESH, 'content-range': 'bytes 0-9/1000' }
  for (const [what, headers, body = '0123456789'] of /** @type {[string, object, string?][]} */ ([
    ['a weak tag (9110 §8.8.1)', { ...PART, etag: 'W/"one"' }], ['no tag', { ...PART, etag: [] }],
    ['two tags', { ...PART, etag: ['"one"', '"two"'] }],
    ['only a date (9110 §8.8.2.2)', { ...PART, etag: [], 'last-modified': httpDate(-60) }],
    ['an unknown complete length (9110 §14.4)', { ...PART, 'content-range': 'bytes 0-9/*' }],
    ['a last byte behind the end', { ...PART, 'content-range': 'bytes 0-9/9' }],
    ['a last byte before the first', { ...PART, 'content-range': 'bytes 9-0/1000' }],
    ['numbers without end', { ...PART, 'content-range': `bytes 0-9/${'9'.repeat(400)}` }],
    ['two Content-Ranges', { ...PART, 'content-range': ['bytes 0-9/1000', 'bytes 10-19/1000'] }],
    ['another unit', { ...PART, 'content-range': 'lines 0-9/1000' }],
    ['several parts (9110 §15.3.7.2)', { ...PART, 'content-type': 'multipart/byteranges; boundary=x' }],
    ['more bytes than it says', { ...PART, 'content-length': 11 }, '0123456789A'],
    ['fewer bytes than it says', { ...PART, 'content-length': 9 }, '012345678'],
    ['more bytes than it says, chunked', { ...PART, 'transfer-encoding': 'chunked' }, '0123456789A'],
    ['fewer bytes than it says, chunked', { ...PART, 'transfer-encoding': 'chunked' }, '012345678'],
    ['no-store (9111 §3)', { ...PART, 'cache-control': 'no-store' }],
    ['private (9111 §3)', { ...PART, 'cache-control': 'private, max-age=60' }],
    ['no-cache', { ...PART, 'cache-control': 'no-cache' }],
    ['Vary: * (9111 §4.1)', { ...PART, vary: '*' }]
  ])) {
    test(`9111 §3.3: a part with ${what} is passed on, and not stored`, async () => {
      script = (_request, response) => response.writeHead(206, /** @type {any} */ (headers)).end(body)
      for (let count = 1; count < 3; count++) {
        const answer = await range('0-9')
        assert.deepEqual([answer.status, answer.body, edge.reached(url)], [206, body, count])
      }
      script = (request, response) => answerRange(request, response, ONE)
      assert.deepEqual(essence(await edge.get(url)), [200, undefined, BODY, 'MISS'])
    })
  }

  for (const [what, head, bytes] of /** @type {[string, object, string][]} */ ([
    ['another tag', { etag: '"two"', 'content-range': 'bytes 500-999/1000' }, OTHER.slice(500)],
    ['a weak tag', { etag: 'W/"one"', 'content-range': 'bytes 500-999/1000' }, OTHER.slice(500)],
    ['no tag', { 'content-range': 'bytes 500-999/1000' }, OTHER.slice(500)],
    ['another range', { etag: '"one"', 'content-range': 'bytes 400-899/1000' }, BODY.slice(400, 900)],
    ['a part of the range', { etag: '"one"', 'content-range': 'bytes 500-599/1000' }, BODY.slice(500, 600)],
    ['another Content-Length', { etag: '"one"', 'content-range': 'bytes 500-999/1000', 'content-length': 400 },
      BODY.slice(500, 900)],
    ['another length', { etag: '"one"', 'content-range': 'bytes 500-999/2000' }, OTHER.slice(500)],
    ['another coding', { etag: '"one"', 'content-encoding': 'x', 'content-range': 'bytes 500-999/1000' },
      BODY.slice(500)]
  ])) {
    test(`9110 §15.3.7.3: an answer with ${what} is not joined to what is stored: the whole is fetched`, async () => {
      script = (request, response) => answerRange(request, response, ONE)
      await range('0-499')
      script = (request, response) => request.headers.range
        ? response.writeHead(206, { 'cache-control': 'max-age=60', ...head }).end(bytes)
        : answerRange(request, response, { body: OTHER, etag: '"two"' })
      assert.deepEqual(essence(await edge.get(url)), [200, undefined, OTHER, 'MISS'])
      assert.equal((await edge.get(url)).body, OTHER)
    })
  }

  test('a 416, and a 304, for the gap is not for the client, which gets the whole', async () => {
    for (const status of [416, 304]) {
      url += '0'
      script = (request, response) => answerRange(request, response, ONE)
      await range('0-499')
      script = (request, response) => request.headers.range
        ? response.writeHead(status, { 'content-range': 'bytes */100' }).end()
        : answerRange(request, response, { body: OTHER, etag: '"two"' })
      assert.deepEqual(essence(await edge.get(url)), [200, undefined, OTHER, 'MISS'])
    }
  })

  test('a gap whose bytes break off: the client sees it, and the next GET asks for what is missing', async () => {
    script = (request, response) => answerRange(request, response, ONE)
    await range('0-499')
    script = (_request, response) => {
      response.writeHead(206, { ...FRESH, 'content-range': 'bytes 500-999/1000', 'content-length': 500 })
      response.write(BODY.slice(500, 700), () => response.destroy())
    }
    await assert.rejects(edge.get(url), BROKEN)
    script = (request, response) => answerRange(request, response, ONE)
    assert.deepEqual(essence(await edge.get(url)), [200, undefined, BODY, 'MISS'])
    assert.match(String(edge.arrived.at(-1)?.headers.range), /^bytes=[5-7]00-999$/)
  })

  for (const [what, bytes] of [['few', BODY.slice(500, 990)], ['many', `${BODY.slice(500)}more`]]) {
    test(`a gap with too ${what} bytes, chunked, does not pass for a whole response`, async () => {
      script = (request, response) => answerRange(request, response, ONE)
      await range('0-499')
      script = (_request, response) => {
        response.writeHead(206, { ...FRESH, 'content-range': 'bytes 500-999/1000' }).write(bytes.slice(0, 10))
        response.end(bytes.slice(10))
      }
      await assert.rejects(edge.get(url), BROKEN)
      script = (request, response) => answerRange(request, response, ONE)
      assert.equal((await edge.get(url)).body, BODY)
      assert.equal((await edge.get(url)).body, BODY)
    })
  }

  test('an error for the gap is the answer: a 404 removes the parts, a 503 does not', async () => {
    for (const [status, cache] of /** @type {[number, string][]} */ ([[404, 'MISS'], [503, 'HIT']])) {
      url += '0'
      script = (request, response) => answerRange(request, response, ONE)
      await range('0-499')
      script = (_request, response) => response.writeHead(status).end()
      assert.equal((await edge.get(url)).status, status)
      assert.equal((await range('400-600')).status, status)
      script = (request, response) => answerRange(request, response, ONE)
      assert.equal((await range('0-499')).cache, cache)
    }
  })

  test('a gap that has become private is answered, and nothing of it stays', async () => {
    script = (request, response) => answerRange(request, response, ONE)
    await range('0-499')
    script = (request, response) => answerRange(request, response, { ...ONE, headers: { 'cache-control': 'private' } })
    assert.deepEqual([(await edge.get(url)).body, (await edge.get(url)).body], [BODY, BODY])
    assert.deepEqual(edge.arrived.slice(-2).map(({ headers }) => headers.range), ['bytes=500-999', undefined])
  })

  test('a key has 256 parts, and no more bytes than one response; the oldest give way', async () => {
    script = (request, response) => answerRange(request, response, ONE)
    for (let at = 0; at <= 512; at += 2) await range(`${at}-${at}`)
    assert.deepEqual([(await range('512-512')).cache, (await range('2-2')).cache], ['HIT', 'HIT'])
    assert.equal((await range('0-0')).cache, 'MISS')
    url += '0'
    const body = textOf(3 * OBJECT_BYTES_MAX)
    script = (request, response) => answerRange(request, response, { body, etag: '"one"' })
    const ranges = [0, 1, 2].map((index) => `${index * 450_000}-${index * 450_000 + 449_999}`)
    for (const text of ranges) await range(text)
    const all = await Promise.all(ranges.map(async (text) => (await range(text, { 'if-none-match': '"x"' })).cache))
    assert.deepEqual(all, ['MISS', 'HIT', 'HIT'])
    assert.ok((await edge.get(url)).body === body, 'too large to be stored whole')
  })
})

test('a host, a header or an address with the mark of the parts reaches none', async (t) => {
  const edge = await startEdge(t, (request, response) => answerRange(request, response, ONE), STANDARD)
  await edge.get('/', { range: 'bytes=0-99' })
  for (const [path, host] of [['/', `\x03${edge.host}`], ['/', `${edge.host}\x03`], ['/\x03', edge.host]]) {
    const answer = await edge.raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 400 /)
  }
  const forged = 'X-Forwarded-Host: \x030-99/1000"one"'
  const answer = await edge.raw(`GET / HTTP/1.1\r\nHost: ${edge.host}\r\n${forged}\r\nConnection: close\r\n\r\n`)
  assert.match(answer, /^CF-Cache-Status: MISS/m)
})

test('simultaneous requests for one gap are one fetch; for one range, each answer is right', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    setTimeout(() => answerRange(request, response, ONE), 100)
  }, STANDARD)
  const ranges = await Promise.all(Array.from({ length: 4 }, () => edge.get('/', { range: 'bytes=100-499' })))
  for (const { body } of ranges) assert.equal(body, BODY.slice(100, 500))
  const before = edge.arrived.length
  await edge.get('/', { range: 'bytes=500-999' })
  const whole = await Promise.all(Array.from({ length: 8 }, () => edge.get('/')))
  for (const { body } of whole) assert.equal(body, BODY)
  assert.deepEqual(edge.arrived.slice(before).map(({ headers }) => headers.range), ['bytes=500-999', 'bytes=0-99'])
})

test('while a large gap is fetched, another request does not wait for its end: it gets the whole', async (t) => {
  const body = textOf(3_000_000)
  let release = () => {}
  const edge = await startEdge(t, (request, response) => {
    if (request.headers.range !== 'bytes=100-2999999') return answerRange(request, response, { body, etag: '"one"' })
    const head = { ...FRESH, 'content-range': 'bytes 100-2999999/3000000', 'content-length': body.length - 100 }
    response.writeHead(206, head).write(body.slice(100, 200))
    release = () => response.end(body.slice(200))
  }, { ...STANDARD, maxSizeBytes: 16_000_000 })
  await edge.get('/', { range: 'bytes=0-99' })
  const first = edge.get('/')
  await waitUntil(() => edge.reached('/') === 2, WAIT_MAX_MS)
  assert.ok((await edge.get('/')).body === body)
  release()
  assert.ok((await first).body === body)
  assert.deepEqual(edge.arrived.map(({ headers }) => headers.range), ['bytes=0-99', 'bytes=100-2999999', undefined])
})

test('requests that wait for a gap in vain share the fetch of the whole', async (t) => {
  /** @type {(() => void)[]} */
  const held = []
  let changed = false
  const edge = await startEdge(t, (request, response) => {
    if (!changed) return answerRange(request, response, ONE)
    const head = { ...FRESH, etag: '"two"', 'content-range': 'bytes 500-999/1000' }
    held.push(() => request.headers.range
      ? response.writeHead(206, head).end(OTHER.slice(500))
      : answerRange(request, response, { body: OTHER, etag: '"two"' }))
    setTimeout(() => { for (const send of held.splice(0)) send() }, 200)
  }, STANDARD)
  await edge.get('/', { range: 'bytes=0-499' })
  changed = true
  for (const { body } of await Promise.all(Array.from({ length: 6 }, () => edge.get('/')))) assert.equal(body, OTHER)
  assert.ok(edge.reached('/') <= 4, `${edge.reached('/')} requests`)
})

test('the profile cloudflare stores no part', async (t) => {
  const edge = await startEdge(t, (_request, response) =>
    response.writeHead(206, { ...FRESH, 'content-range': 'bytes 0-9/1000' }).end(BODY.slice(0, 10)))
  await edge.get('/')
  for (let count = 0; count < 2; count++) {
    const before = edge.reached('/')
    assert.notEqual((await edge.get('/', { range: 'bytes=0-9' })).cache, 'HIT')
    assert.ok(edge.reached('/') > before)
  }
})

test('a restart, warm or after a kill, has the parts that were stored; a purge before it holds', async (t) => {
  const edge = await startEdge(t, (request, response) => answerRange(request, response, ONE), STANDARD)
  for (const url of ['/', '/purged']) {
    for (const range of ['bytes=0-399', 'bytes=600-999']) await edge.get(url, { range })
  }
  await edge.purge({ files: [`http://${edge.host}/purged`] })
  for (const begin of [edge.restart, edge.crash]) {
    await begin()
    const kept = await edge.get('/', { range: 'bytes=100-199' })
    assert.deepEqual(essence(kept), [206, 'bytes 100-199/1000', BODY.slice(100, 200), 'HIT'])
    assert.equal((await edge.get('/purged', { range: 'bytes=0-9' })).cache, 'MISS')
    await edge.purge({ files: [`http://${edge.host}/purged`] })
  }
  assert.deepEqual(essence(await edge.get('/')), [200, undefined, BODY, 'MISS'])
  assert.equal(edge.arrived.at(-1)?.headers.range, 'bytes=400-599')
})

test('parts are evicted as all else; what is left of them is not wrong', async (t) => {
  const body = textOf(400_000)
  const origin = { body, etag: '"one"' }
  const edge = await startEdge(t, (request, response) => answerRange(request, response, origin), STANDARD)
  for (let at = 0; at < 300_000; at += 100_000) await edge.get('/', { range: `bytes=${at}-${at + 99_999}` })
  for (let count = 0; count < 20; count++) await edge.get(`/other${count}`)
  assert.equal((await edge.get('/', { range: 'bytes=0-99', 'cache-control': 'only-if-cached' })).status, 504)
  assert.ok((await edge.get('/', { range: 'bytes=50-350000' })).body === body.slice(50, 350_001))
  assert.ok((await edge.get('/')).body === body)
  assert.equal(edge.errors().includes('[error]'), false)
})
