import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { byteServer, startEdge, WAIT_MAX_MS } from './edge-helper.js'

test('hop-by-hop headers, those that Connection lists, and those for the CDN do not reach the client', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.write(
    'HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n' +
    'Proxy-Connection: x\r\nTE: x\r\nTrailer: x\r\nUpgrade: x\r\nProxy-Authenticate: Basic\r\n' +
    'Cache-Tag: a,b\r\nCloudflare-CDN-Cache-Control: max-age=60\r\nCDN-Cache-Control: max-age=50\r\n' +
    'X-Kept: 1\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 4\r\n\r\nbody')))
  for (const cache of ['MISS', 'HIT']) {
    const { headers, cache: status, rawHeaders } = await edge.get('/')
    assert.equal(status, cache)
    for (const name of [
      'x-hop', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'proxy-authenticate', 'cache-tag',
      'cloudflare-cdn-cache-control'
    ]) {
      assert.equal(headers[name], undefined, name)
    }
    assert.deepEqual([headers['cdn-cache-control'], headers['x-kept'], headers['x-twice']], ['max-age=50', '1', '1, 2'])
    assert.equal(rawHeaders.filter((name) => name === 'X-Twice').length, 2)
    assert.match(String(headers['cf-ray']), /^[0-9a-f]{16}-[A-Z]{3}$/)
  }
})

test('hop-by-hop headers and those that Connection lists do not reach the origin', async (t) => {
  const edge = await startEdge(t, (_request, response) => response.end('body'))
  for (const method of ['GET', 'POST']) {
    await edge.get('/', {
      connection: 'close, X-Hop',
      'x-hop': '1',
      'proxy-connection': 'x',
      te: 'trailers',
      'x-kept': '1',
      'x-forwarded-for': '192.0.2.1'
    }, method)
    const headers = /** @type {import('node:http').IncomingMessage} */ (edge.arrived.at(-1)).headers
    for (const name of ['x-hop', 'proxy-connection', 'te']) assert.equal(headers[name], undefined, `${method} ${name}`)
    assert.deepEqual(
      [headers['x-kept'], headers['x-forwarded-for'], headers['cf-connecting-ip'], headers.host],
      ['1', '192.0.2.1, 127.0.0.1', '127.0.0.1', edge.host]
    )
  }
})

test('interim (1xx) responses are skipped', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.write(
    'HTTP/1.1 102 Processing\r\n\r\n' +
    'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nCache-Control: no-store\r\n\r\n' +
    'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nbody')))
  for (const cache of ['MISS', 'HIT']) {
    const answer = await edge.get('/')
    assert.deepEqual([answer.status, answer.cache, answer.body, answer.headers.link], [200, cache, 'body', undefined])
  }
})

test('a response to a request with Authorization is shared only if a directive of the origin allows it', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response
      .setHeader('Cache-Control', `max-age=60${decodeURIComponent(String(request.url).slice(1))}`)
      .end('body')
  )
  for (const [extra, second] of [
    ['', 'MISS'],
    [',public', 'HIT'],
    [',s-maxage=60', 'HIT'],
    [',must-revalidate', 'HIT']
  ]) {
    await edge.get(`/${extra}`, { authorization: 'Basic YTpi' })
    assert.equal((await edge.get(`/${extra}`)).cache, second, extra)
  }
})

test('the log has the cache status, key, page revision, bytes, ray, and the origin\'s status and time', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response) => response.setHeader('Cache-Control', 'max-age=60')
      .setHeader('Page-Revision', '7')
      .end('body')
  )
  await edge.get('/a')
  const miss = await edge.logged('/a')
  assert.deepEqual(
    [miss.cache_status, miss.upstream_status, miss.page_revision, miss.sent_bytes, miss.key],
    ['MISS', '200', '7', 4, `http://${edge.host}/a`]
  )
  assert.ok(Number(miss.upstream_duration_s) >= 0 && miss.upstream_duration_s !== '')
  const { headers } = await edge.get('/a?2')
  assert.equal((await edge.logged('/a?2')).ray, headers['cf-ray'])
})

test('each log line is valid JSON, also for malformed requests', async (t) => {
  const edge = await startEdge(t, (_request, response) => response.end('body'))
  const said = [
    'nonsense',
    'GET / HTTP/1.1',
    'GET /"\\\x01\xff HTTP/1.1\r\nHost: a"b',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x'
  ]
  for (const bytes of said) await edge.raw(`${bytes}\r\n\r\n`)
  await fetch(edge.control.url, { headers: { 'content-length': '0' } })
  const lines = () => ['access.log', 'control.log']
    .flatMap((file) => readFileSync(path.join(edge.directory, file), 'utf8').trim().split('\n'))
  assert.ok(await waitUntil(() => lines().length > said.length, WAIT_MAX_MS))
  for (const line of lines()) assert.equal(typeof JSON.parse(line).status, 'number', line)
  assert.doesNotMatch(edge.errors(), /uninitialized/)
})

test('a GET with a body is forwarded as DYNAMIC and not stored', async (t) => {
  const edge = await startEdge(t, (request, response) => request.resume().on(
    'end',
    () => response.setHeader('Cache-Control', 'max-age=60').end('body')
  ))
  assert.equal((await edge.get('/', { 'content-length': '3' }, 'GET', 'x=1')).cache, 'DYNAMIC')
  assert.equal((await edge.get('/')).cache, 'MISS')
})
