import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startEdge } from './edge-helper.js'

const LARGE = Buffer.alloc(300_000, '0123456789').toString()

/** @typedef {[headers: Record<string, string>, status: number, body: string, contentRange?: string]} RangeCase */

describe('a range of a stored response', () => {
  /** @type {Awaited<ReturnType<typeof startEdge>>} */
  let edge
  before(async () => {
    edge = await startEdge(null, (request, response) => {
      response.setHeader('ETag', '"one"')
        .setHeader('Cache-Control', 'max-age=60')
        .end(request.url === '/large' ? LARGE : '0123456789')
    })
    for (const url of ['/small', '/large']) await edge.get(url)
  })
  after(() => edge.stop())

  for (const [headers, status, body, contentRange] of /** @type {RangeCase[]} */ ([
    [{ range: 'bytes=2-4' }, 206, '234', 'bytes 2-4/10'],
    [{ range: 'bytes=7-' }, 206, '789', 'bytes 7-9/10'],
    [{ range: 'bytes=-3' }, 206, '789', 'bytes 7-9/10'],
    [{ range: 'bytes=-30' }, 206, '0123456789', 'bytes 0-9/10'],
    [{ range: 'bytes=8-100' }, 206, '89', 'bytes 8-9/10'],
    [{ range: 'BYTES=0-0' }, 206, '0', 'bytes 0-0/10'],
    [{ range: 'bytes=10-' }, 416, '', 'bytes */10'],
    [{ range: 'bytes=-0' }, 416, '', 'bytes */10'],
    [{ range: 'bytes=4-2' }, 200, '0123456789'],
    [{ range: 'lines=1-2' }, 200, '0123456789'],
    [{ range: 'bytes=0-1,3-4' }, 200, '0123456789'],
    [{ range: 'bytes=2-4', 'if-range': '"one"' }, 206, '234', 'bytes 2-4/10'],
    [{ range: 'bytes=2-4', 'if-range': '"two"' }, 200, '0123456789'],
    [{ range: 'bytes=2-4', 'if-range': 'W/"one"' }, 200, '0123456789'],
    [{ range: 'bytes=2-4', 'if-none-match': '"one"' }, 304, ''],
    [{ 'if-range': '"two"' }, 200, '0123456789']
  ])) {
    test(`${JSON.stringify(headers)} → ${status}`, async () => {
      const answer = await edge.get('/small', headers)
      assert.deepEqual(
        [answer.status, answer.body, answer.headers['content-range'], answer.cache],
        [status, body, contentRange, 'HIT']
      )
    })
  }

  test('a range of a body that is too large for memory', async () => {
    const answer = await edge.get('/large', { range: 'bytes=150001-290000' })
    assert.equal(answer.status, 206)
    assert.equal(answer.body, LARGE.slice(150_001, 290_001))
    assert.equal((await edge.get('/large')).body, LARGE)
    assert.equal(edge.reached('/large'), 1)
  })
})

test('cloudflare fetches and stores the whole page for a range or a HEAD of a page that is not stored', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end('0123456789')
  )
  const range = await edge.get('/range', { range: 'bytes=2-4' })
  assert.deepEqual([range.status, range.body, range.cache], [206, '234', 'MISS'])
  assert.equal((await edge.get('/range')).cache, 'HIT')
  const head = await edge.get('/head', {}, 'HEAD')
  assert.deepEqual([head.status, head.body, head.headers['content-length'], head.cache], [200, '', '10', 'MISS'])
  const hit = await edge.get('/head')
  assert.deepEqual([hit.cache, hit.body], ['HIT', '0123456789'])
  assert.deepEqual(
    edge.arrived.map(({ method, headers }) => [method, headers.range]),
    [['GET', undefined], ['GET', undefined]]
  )
})

test('the origin answers a range of a private page, and nothing is stored', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    if (request.headers.range) {
      response.writeHead(206, { 'content-range': 'bytes 2-4/10', 'cache-control': 'private' }).end('234')
    } else response.writeHead(200, { 'cache-control': 'private' }).end('0123456789')
  })
  const answer = await edge.get('/', { range: 'bytes=2-4' })
  assert.deepEqual([answer.status, answer.body], [206, '234'])
  assert.equal((await edge.get('/')).body, '0123456789')
})

test('a range of the end of an empty body gets the body, any other a 416', async (t) => {
  const edge = await startEdge(t, (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end())
  for (const cache of ['MISS', 'HIT']) {
    for (const [range, status] of /** @type {[string, number][]} */ ([
      ['bytes=-5', 200], ['bytes=0-', 416], ['bytes=-0', 416]
    ])) {
      const answer = await edge.get(`/${range}`, { range })
      assert.deepEqual([answer.status, answer.body, answer.cache], [status, '', cache], range)
    }
  }
})

test('a digest of the whole content is not sent with a part of it, nor with a 304', async (t) => {
  const digests = { 'content-digest': 'sha-256=:YQ==:', 'content-md5': 'YQ==', 'repr-digest': 'sha-256=:YQ==:' }
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=60', etag: '"one"', ...digests }).end('0123456789')
  })
  for (const [headers, status, sent] of /** @type {[Record<string, string>, number, number][]} */ ([
    [{ range: 'bytes=2-4' }, 206, 1], [{}, 200, 3], [{ range: 'bytes=2-4' }, 206, 1], [{ range: 'bytes=10-' }, 416, 1],
    [{ 'if-none-match': '"one"' }, 304, 1]
  ])) {
    const answer = await edge.get('/', headers)
    assert.equal(answer.status, status)
    assert.equal(Object.keys(digests).filter((name) => answer.headers[name] !== undefined).length, sent, String(status))
  }
})

test('a HEAD is not answered with a range', async (t) => {
  const edge = await startEdge(t, (_request, response) =>
    response.setHeader('Cache-Control', 'max-age=60').setHeader('X-Any', '1').end('0123456789'))
  const { headers: got } = await edge.get('/')
  const head = await edge.get('/', { range: 'bytes=2-4' }, 'HEAD')
  assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '10'])
  for (const name of Object.keys(got).filter((name) => name.startsWith('cf-') === false)) {
    assert.equal(head.headers[name], got[name], name)
  }
})

describe('rfc9111: after a HEAD the stored GET', () => {
  const MODIFIED = 'Mon, 02 Jun 2025 10:00:00 GMT'
  /** @type {[what: string, stored: Record<string, string>, said: Record<string, string>, cache: string][]} */
  const cases = [
    ['the same validators', { etag: '"1"', 'last-modified': MODIFIED },
      { etag: '"1"', 'last-modified': MODIFIED, 'content-length': '10' }, 'HIT'],
    ['no validator and the same length', { etag: '"1"' }, { 'content-length': '10' }, 'HIT'],
    ['another ETag', { etag: '"1"' }, { etag: '"2"' }, 'MISS'],
    ['an ETag that was not there', {}, { etag: '"1"' }, 'MISS'],
    ['another Last-Modified', { etag: '"1"', 'last-modified': MODIFIED },
      { etag: '"1"', 'last-modified': 'Tue, 03 Jun 2025 10:00:00 GMT' }, 'MISS'],
    ['a Last-Modified that was not there', { etag: '"1"' }, { etag: '"1"', 'last-modified': MODIFIED }, 'MISS'],
    ['another length', { etag: '"1"' }, { etag: '"1"', 'content-length': '11' }, 'MISS'],
    ['another Vary', { etag: '"1"' }, { etag: '"1"', vary: 'accept' }, 'MISS']
  ]
  for (const [what, stored, said, cache] of cases) {
    test(`is ${cache === 'HIT' ? 'updated' : 'stale'} with ${what}`, async (t) => {
      const edge = await startEdge(t, (request, response, count) => {
        response.setHeader('Cache-Control', 'max-age=60').setHeader('X-Count', String(count))
        response.writeHead(200, request.method === 'HEAD' ? said : stored).end('0123456789')
      }, { profile: 'rfc9111' })
      await edge.get('/')
      assert.equal((await edge.get('/', { 'cache-control': 'no-cache' }, 'HEAD')).headers['x-count'], '2')
      const after = await edge.get('/')
      assert.deepEqual([after.cache, after.headers['x-count']], [cache, cache === 'HIT' ? '2' : '3'])
    })
  }
})

test('rfc9111 serves a HEAD from a stored GET or forwards it; a new ETag removes the stored GET', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response.setHeader('Cache-Control', 'max-age=60')
      .setHeader('Content-Length', '10')
      .setHeader('ETag', request.url === '/changed' && request.method === 'HEAD' ? '"two"' : '"one"')
      .end('0123456789'),
    { profile: 'rfc9111' }
  )
  await edge.get('/stored')
  const head = await edge.get('/stored', {}, 'HEAD')
  assert.deepEqual(
    [head.cache, head.body, head.headers['content-length'], typeof head.age],
    ['HIT', '', '10', 'number']
  )
  assert.equal((await edge.get('/other', {}, 'HEAD')).headers['content-length'], '10')
  assert.equal(edge.arrived.at(-1)?.method, 'HEAD')
  await edge.get('/changed')
  await edge.get('/changed', { 'cache-control': 'no-cache' }, 'HEAD')
  assert.equal((await edge.get('/changed')).cache, 'MISS')
})
