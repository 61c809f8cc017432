import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { byteServer, startEdge } from './edge-helper.js'

/** Echoes the request and the length of its body. @type {import('./edge-helper.js').Script} */
const echo = (request, response) => {
  let bytes = 0
  request.on('data', (chunk) => { bytes += chunk.length }).on('end', () => response.end(JSON.stringify({
    method: request.method,
    bytes,
    length: request.headers['content-length'],
    type: request.headers['content-type'],
    coding: request.headers['transfer-encoding']
  })))
}

test('request bodies of any size and framing reach the origin complete, with a Content-Length', async (t) => {
  const edge = await startEdge(t, echo)
  for (const size of [0, 1, 20_000, 3_000_000]) {
    const { body, cache } = await edge.get('/', { 'content-type': 'text/x-test' }, 'POST', 'x'.repeat(size))
    assert.deepEqual(
      [JSON.parse(body), cache],
      [{ method: 'POST', bytes: size, length: String(size), type: 'text/x-test' }, 'DYNAMIC']
    )
  }
  const chunked = await edge.raw(
    `PUT / HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`
  )
  assert.match(chunked, /"method":"PUT","bytes":5,"length":"5"}/)
  const continued = await edge.raw(
    `POST / HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab`
  )
  assert.match(continued, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*"bytes":2/)
})

test('a DELETE without a body is forwarded without body headers, and OPTIONS is forwarded', async (t) => {
  const edge = await startEdge(t, echo)
  assert.deepEqual(JSON.parse((await edge.get('/', {}, 'DELETE')).body), { method: 'DELETE', bytes: 0 })
  assert.equal(JSON.parse((await edge.get('/', {}, 'OPTIONS')).body).method, 'OPTIONS')
})

test('rfc9111 counts itself in the Max-Forwards of OPTIONS, and answers itself at 0', async (t) => {
  const edge = await startEdge(t, echo, { profile: 'rfc9111' })
  for (const [said, forwarded] of /** @type {[string, string][]} */ ([
    ['1', '0'], ['0010', '9'], ['9'.repeat(400), '2147483647'], ['-1', '-1'], ['x', 'x'], ['0, 0', '0, 0'], ['', '']
  ])) {
    assert.equal((await edge.get('/', { 'max-forwards': said }, 'OPTIONS')).status, 200)
    assert.equal(edge.arrived.at(-1)?.headers['max-forwards'], forwarded)
  }
  for (const said of ['0', '000']) {
    const before = edge.arrived.length
    const answer = await edge.get('/', { 'max-forwards': said }, 'OPTIONS')
    assert.deepEqual([answer.status, answer.body, edge.arrived.length - before], [204, '', 0])
    assert.match(String(answer.headers.allow), /OPTIONS/)
  }
  assert.equal((await edge.get('/', {}, 'OPTIONS')).status, 200)
  assert.equal(edge.arrived.at(-1)?.headers['max-forwards'], undefined)
  for (const method of ['GET', 'POST']) {
    assert.equal((await edge.get('/', { 'max-forwards': '0' }, method)).status, 200)
    assert.equal(edge.arrived.at(-1)?.headers['max-forwards'], '0')
  }
})

test('a 405 says what is allowed, of the edge and of the origin', async (t) => {
  const edge = await startEdge(t, (_request, response) => response.writeHead(405, { allow: 'GET' }).end())
  const text = await edge.raw(`TRACE / HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\n\r\n`)
  assert.match(text, /^HTTP\/1\.1 405 /)
  assert.match(text, /^Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r$/m)
  assert.equal(edge.arrived.length, 0)
  for (const method of ['GET', 'POST']) {
    const { status, headers, body } = await edge.get('/', {}, method)
    assert.deepEqual([status, headers.allow, body], [405, 'GET', ''], method)
  }
})

test('the origin, not the edge, evaluates the condition of a write', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    request.resume()
    if (request.headers['if-match'] === '"1"') response.setHeader('ETag', '"2"').end('saved')
    else response.writeHead(412).end('conflict')
  })
  for (const [tag, status, body] of /** @type {[string, number, string][]} */ ([
    ['"1"', 200, 'saved'],
    ['"2"', 412, 'conflict']
  ])) {
    const answer = await edge.get('/', { 'if-match': tag, 'content-length': '1' }, 'PUT', 'x')
    assert.deepEqual([answer.status, answer.body], [status, body])
  }
})

test('the response to a write is streamed while the origin sends it', async (t) => {
  /** @type {((value: unknown) => void) | undefined} */
  let release
  const edge = await startEdge(t, (request, response) => {
    request.resume()
    response.write('first')
    release = () => response.end('last')
  })
  const answer = await new Promise((resolve, reject) => {
    let text = ''
    const socket = net.connect(edge.port, '127.0.0.1', () => socket.write(
      `POST / HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
    ))
    socket.on('data', (chunk) => {
      text += chunk
      // The second piece is sent only when the client has the first one.
      if (text.includes('first')) release?.(undefined)
    })
    socket.on('end', () => resolve(text)).on('error', reject)
  })
  assert.match(answer, /first[^]*last/)
})

test('the client gets the response of an origin that refuses a body before reading it', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.end(
    'HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig'
  )))
  const answer = await edge.get('/', {}, 'POST', 'x'.repeat(100_000))
  assert.deepEqual([answer.status, answer.body], [413, 'big'])
})

test('a write is sent only once, even if the origin closes the connection', async (t) => {
  let writes = 0
  const edge = await startEdge(t, byteServer((socket, head) => {
    if (head.startsWith('GET')) return socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    writes += 1
    socket.destroy()
  }))
  assert.equal((await edge.get('/')).body, 'ok')
  const answer = await edge.get('/', {}, 'POST', 'x')
  assert.deepEqual([answer.status, answer.cache, writes], [502, 'DYNAMIC', 1])
})

test('clients that disconnect do not crash the worker', async (t) => {
  const edge = await startEdge(t, (request, response) => { request.resume(); response.end('x'.repeat(5_000_000)) })
  const workers = edge.workers()
  await Promise.all(Array.from({ length: 10 }, () => new Promise((resolve) => {
    const socket = net.connect(edge.port, '127.0.0.1', () => socket.write(
      `POST / HTTP/1.1\r\nHost: ${edge.host}\r\nContent-Length: 0\r\n\r\n`
    ))
    socket.once('data', () => { socket.resetAndDestroy(); resolve(undefined) }).on('error', () => {})
  })))
  assert.equal((await edge.get('/', {}, 'POST', 'x')).body.length, 5_000_000)
  assert.deepEqual(edge.workers(), workers)
})
