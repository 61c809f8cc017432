import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { byteServer, startEdge, WAIT_MAX_MS } from './edge-helper.js'

test('hop-by-hop headers, those that Connection lists, and those for the CDN do not reach the client', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.write(
    'HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n' +
    'Proxy-Connection: x\r\nTE: x\r\nTrailer: x\r\nUpgrade: x\r\nProxy-Authenticate: Basic\r\n' +
    'Proxy-Authentication-Info: x\r\nProxy-Authorization: x\r\n' +
    'Cache-Tag: a,b\r\nCloudflare-CDN-Cache-Control: max-age=60\r\nCDN-Cache-Control: max-age=50\r\n' +
    'X-Kept: 1\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 4\r\n\r\nbody')))
  for (const cache of ['MISS', 'HIT']) {
    const { headers, cache: status, rawHeaders } = await edge.get('/')
    assert.equal(status, cache)
    for (const name of [
      'x-hop', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'proxy-authenticate',
      'proxy-authentication-info', 'proxy-authorization', 'cache-tag', 'cloudflare-cdn-cache-control'
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

test('credentials for a proxy do not reach the origin, and do not keep a response from being shared', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end('body'),
    { profile: 'rfc9111' }
  )
  for (const method of ['POST', 'GET']) await edge.get('/', { 'proxy-authorization': 'Basic YTpi' }, method)
  for (const { headers } of edge.arrived) assert.equal(headers['proxy-authorization'], undefined)
  assert.equal((await edge.get('/')).cache, 'HIT')
})

test('a 407 of the origin reaches its client without the challenge, and is not stored', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => count === 1
    ? response.writeHead(407, { 'cache-control': 'max-age=60', 'proxy-authenticate': 'Basic' }).end('no')
    : response.setHeader('Cache-Control', 'max-age=60').end('body'), { profile: 'rfc9111' })
  const { status, headers } = await edge.get('/')
  assert.deepEqual([status, headers['proxy-authenticate']], [407, undefined])
  const second = await edge.get('/')
  assert.deepEqual([second.status, second.cache], [200, 'MISS'])
})

test('rfc9111 appends itself to the Via of each request to the origin, cloudflare forwards Via as it is', async (t) => {
  for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
    const edge = await startEdge(
      t,
      (_request, response) => response.setHeader('Cache-Control', 'no-store').end('body'),
      { profile }
    )
    const own = profile === 'rfc9111' ? '1\\.1 edge-[0-9a-f]{16}' : ''
    for (const method of ['GET', 'POST']) {
      for (const [said, expected] of /** @type {[Record<string, string | string[]>, string][]} */ ([
        [{}, own],
        [{ via: '1.0 fred, 1.1 x (comment)' }, `1\\.0 fred, 1\\.1 x \\(comment\\)${own && `, ${own}`}`],
        [{ via: ['1.0 a', '1.1 b'] }, `1\\.0 a, 1\\.1 b${own && `, ${own}`}`],
        [{ via: '1.0 a', connection: 'close, via' }, own],
        ...(profile === 'rfc9111' ? [([{ via: ' ' }, own])] : [])
      ])) {
        const { headers } = await edge.get('/', said, method)
        assert.equal(headers.via, undefined)
        assert.match(edge.arrived.at(-1)?.headers.via ?? '', new RegExp(`^${expected}$`), JSON.stringify(said))
      }
    }
    await edge.raw(`GET / HTTP/1.0\r\nHost: ${edge.host}\r\n\r\n`)
    assert.match(edge.arrived.at(-1)?.headers.via ?? '', profile === 'rfc9111' ? /^1\.0 edge-/ : /^$/)
  }
})

test('rfc9111 ends a loop with a 508: a request that has passed this edge before is not forwarded', async (t) => {
  let port = 0
  const edge = await startEdge(t, (request, response) => {
    request.resume()
    const { via, host } = request.headers
    http.get({ port, host: '127.0.0.1', path: request.url, headers: { via, host }, agent: false }, (again) => {
      response.writeHead(again.statusCode ?? 0)
      again.pipe(response)
    })
  }, { profile: 'rfc9111' })
  port = edge.port
  for (const method of ['GET', 'POST']) {
    const before = edge.arrived.length
    const { status, body } = await edge.get('/', {}, method)
    assert.deepEqual([status, edge.arrived.length - before], [508, 1], method)
    assert.match(body, /Loop Detected/)
  }
})

test('interim responses of any kind are dropped for reads and writes, up to 16 before a final one', async (t) => {
  const edge = await startEdge(t, byteServer((socket, head) => {
    const count = Number(/\/(\d+)/.exec(head)?.[1])
    const interim = ['100 Continue', '102 Processing', '103 Early Hints\r\nLink: </a>\r\nContent-Length: 9', '199 X']
    for (let index = 0; index < count; index++) socket.write(`HTTP/1.1 ${interim[index % interim.length]}\r\n\r\n`)
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody')
  }), { profile: 'rfc9111' })
  for (const method of ['GET', 'HEAD', 'PUT']) {
    for (const [count, status] of [[1, 200], [16, 200], [17, 502]]) {
      const answer = await edge.get(`/${count}`, {}, method)
      assert.deepEqual([answer.status, answer.headers.link], [status, undefined], `${method} ${count}`)
    }
  }
})

test('an Expect of the client is answered by the edge, and does not reach the origin', async (t) => {
  const edge = await startEdge(t, (request, response) => request.resume().on('end', () => response.end('body')))
  const text = await edge.raw(
    `PUT / HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab`
  )
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  assert.equal(edge.arrived[0].headers.expect, undefined)
})

test('a client of HTTP/1.0 gets no interim response', async (t) => {
  const edge = await startEdge(t, (request, response) => request.resume().on('end', () => response.end('body')))
  const text = await edge.raw(
    `PUT / HTTP/1.0\r\nHost: ${edge.host}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab`
  )
  assert.match(text, /^HTTP\/1\.1 200 /)
})

test('trailer fields are dropped: they neither reach the client nor change what is stored', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.write(
    'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n' +
    '4\r\nbody\r\n0\r\nX-Trailer: 1\r\nETag: "1"\r\nCache-Control: no-store\r\n\r\n')))
  for (const cache of ['MISS', 'HIT']) {
    const { headers, cache: status, body } = await edge.get('/')
    assert.deepEqual([status, body, headers['x-trailer'], headers.etag], [cache, 'body', undefined, undefined])
    assert.equal(headers['cache-control'], 'max-age=60')
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
