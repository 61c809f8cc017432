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
    [{ range: 'bytes=2-4', 'if-none-match': '"one"' }, 304, '']
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
