import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { byteServer, startEdge, WAIT_MAX_MS } from './edge-helper.js'

const FRESH = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n'

/**
 * Asserts that the workers are still the same processes and that the log has no serious error.
 * @param {{workers: () => number[], errors: () => string}} edge
 * @param {number[]} workers
 */
function assertUnharmed (edge, workers) {
  assert.deepEqual(edge.workers(), workers)
  assert.doesNotMatch(edge.errors(), /signal|\[alert\]|\[crit\]|runtime error/)
}

for (const [what, bytes] of /** @type {[string, string][]} */ ([
  ['a body shorter than its Content-Length', `${FRESH}Content-Length: 10\r\n\r\nbody`],
  ['a chunked body without its last chunk', `${FRESH}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`],
  ['a chunked body that ends inside a chunk', `${FRESH}Transfer-Encoding: chunked\r\n\r\nff\r\nbody`],
  ['a chunk size that is not a number', `${FRESH}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nzz\r\n`],
  ['a chunk longer than its size', `${FRESH}Transfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n0\r\n\r\n`],
  ['a large body cut short', `${FRESH}Content-Length: 400000\r\n\r\n${'x'.repeat(300_000)}`]
])) {
  test(`${what} is an error for the client and is not stored`, async (t) => {
    let requests = 0
    const edge = await startEdge(t, byteServer((socket) => {
      requests += 1
      socket.end(requests <= 2 ? bytes : `${FRESH}Content-Length: 5\r\n\r\nwhole`)
    }))
    const workers = edge.workers()
    for (const method of ['GET', 'POST']) {
      await assert.rejects(edge.get('/', {}, method).then((answer) => {
        if (answer.status === 502) {
          throw new Error('refused')
        }
      }), method)
    }
    const second = await edge.get('/')
    assert.deepEqual([second.cache, second.body], ['MISS', 'whole'])
    assert.equal((await edge.get('/')).cache, 'HIT')
    assertUnharmed(edge, workers)
  })
}

for (const [what, bytes] of /** @type {[string, string][]} */ ([
  ['text that is not HTTP', 'hello\r\n\r\n'],
  ['two different Content-Lengths', `${FRESH}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody5`],
  ['a Content-Length that is not a number', `${FRESH}Content-Length: 4x\r\n\r\nbody`],
  ['an unknown transfer coding', `${FRESH}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['a header line without a colon', `${FRESH}nonsense\r\n\r\nbody`],
  ['a NUL in a header', `${FRESH}X: a\0b\r\nContent-Length: 4\r\n\r\nbody`],
  ['a header of 100 kB', `${FRESH}X: ${'x'.repeat(100_000)}\r\nContent-Length: 4\r\n\r\nbody`],
  ['a thousand header fields', `${FRESH}${'X: 1\r\n'.repeat(1000)}Content-Length: 4\r\n\r\nbody`],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ['100 interim responses', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)],
  ['the status 000', `HTTP/1.1 000 None\r\n\r\n${FRESH}Content-Length: 4\r\n\r\nbody`],
  ['the status 099', `HTTP/1.1 099 None\r\n\r\n${FRESH}Content-Length: 4\r\n\r\nbody`],
  ['nothing', '']
])) {
  test(`the client gets a 502 and nothing is stored if the origin sends ${what}`, async (t) => {
    let requests = 0
    const edge = await startEdge(t, byteServer((socket) => {
      requests += 1
      socket.end(requests <= 2 ? bytes : `${FRESH}Content-Length: 5\r\n\r\nwhole`)
    }))
    const workers = edge.workers()
    for (const method of ['GET', 'POST']) assert.equal((await edge.get('/', {}, method)).status, 502, method)
    assert.equal((await edge.get('/')).body, 'whole')
    assertUnharmed(edge, workers)
  })
}

test('the Content-Length of a response to HEAD is one number, or the response is an error', async (t) => {
  const lines = [
    'Content-Length: 4x', 'Content-Length: 4\r\nContent-Length: 5', 'Content-Length: -1', 'Content-Length: ',
    'Content-Length: 4, 4', 'Content-Length: 4\r\nContent-Length: 4',
    'Content-Length: 4\r\nTransfer-Encoding: chunked', 'X: 1'
  ]
  const edge = await startEdge(t, byteServer((socket, head) => {
    socket.write(`${FRESH}${lines[Number(/\/(\d+)/.exec(head)?.[1])]}\r\n\r\n`)
  }), { profile: 'rfc9111' })
  const answers = await Promise.all(lines.map((_, index) => edge.get(`/${index}`, {}, 'HEAD')))
  assert.deepEqual(
    answers.map(({ status, headers }) => status === 200 ? headers['content-length'] : status),
    [502, 502, 502, 502, '4', '4', undefined, undefined]
  )
})

test('bytes after a body do not become the response to another request', async (t) => {
  const edge = await startEdge(t, byteServer((socket, head) => socket.write(head.startsWith('GET /poison ')
    ? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody' +
      'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\npoison'
    : `${FRESH}Content-Length: 4\r\n\r\ngood`)))
  assert.equal((await edge.get('/poison')).body, 'body')
  for (let count = 0; count < 3; count++) assert.equal((await edge.get(`/${count}`)).body, 'good')
})

test('malformed requests and smuggling attempts are refused', async (t) => {
  const edge = await startEdge(t, (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end('body'))
  const workers = edge.workers()
  const host = `Host: ${edge.host}\r\nConnection: close\r\n`
  for (const bytes of [
    `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody5`,
    `POST / HTTP/1.1\r\n${host}Content-Length: -4\r\n\r\nbody`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}Host: other.example\r\n\r\n`,
    'GET / HTTP/1.1\r\nConnection: close\r\n\r\n',
    `GET http://other.example/ HTTP/1.1\r\n${host}\r\n`,
    `GET http://127.0.0.1:1/ HTTP/1.1\r\n${host}\r\n`,
    `GET http://a@${edge.host}/ HTTP/1.1\r\n${host}\r\n`,
    `GET / HTTP/1.1\r\nHost: ${edge.host}@other.example\r\nConnection: close\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\na\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 1, 1\r\n\r\na`,
    `POST / HTTP/1.1\r\n${host}Content-Length: +1\r\n\r\na`,
    `GET / HTTP/1.1\r\n${host}X: a\rTransfer-Encoding: chunked\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`,
    `GET /a#b HTTP/1.1\r\n${host}\r\n`,
    `GET /%00 HTTP/1.1\r\n${host}\r\n`,
    `GET /../../x HTTP/1.1\r\n${host}\r\n`,
    `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
    'GET /\r\n',
    `GET / HTTP/1.1\r\n${host}X : 1\r\n\r\n`.replace('X :', 'Host :'),
    `GET /a b HTTP/1.1\r\n${host}\r\n`,
    `GET /\u0001 HTTP/1.1\r\n${host}\r\n`,
    `GET / HTTP/1.1\r\n${host}X: ${'x'.repeat(50_000)}\r\n\r\n`,
    '\0\0\0\0\r\n\r\n'
  ]) {
    const answer = await edge.raw(bytes)
    assert.match(answer, /^(HTTP\/1\.1 (400|414|431|501) |<html>|400 |$)/, JSON.stringify(bytes.slice(0, 90)))
  }
  assert.equal(edge.arrived.length, 0)
  assertUnharmed(edge, workers)
})

test('a request inside the body of another request never reaches the origin', async (t) => {
  const edge = await startEdge(t, (request, response) => request.resume().on(
    'end',
    () => response.setHeader('Cache-Control', 'max-age=60').end(request.url)
  ))
  const inner = `GET /smuggled HTTP/1.1\r\nHost: ${edge.host}\r\n\r\n`
  for (const [index, outer] of [
    `GET /outer HTTP/1.1\r\nHost: ${edge.host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    `POST /outer HTTP/1.1\r\nHost: ${edge.host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    `POST /outer HTTP/1.1\r\nHost: ${edge.host}\r\nTransfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)};ext=${'x'.repeat(50)}\r\n${inner}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `POST /outer HTTP/1.1\r\nHost: ${edge.host}\r\nTransfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)};\n${inner}\r\n0\r\n\r\n`
  ].entries()) {
    const answer = await edge.raw(
      `${outer}GET /last-${index} HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\n\r\n`
    )
    assert.deepEqual(answer.match(/^\/[a-z0-9-]+|(?<=\r\n)\/[a-z0-9-]+/gm), ['/outer', `/last-${index}`])
  }
  assert.equal(edge.reached('/smuggled'), 0)
})

test('URLs that differ in spelling have separate cache entries', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response.setHeader('Cache-Control', 'max-age=60').end(request.url)
  )
  const urls = [
    '/a/b', '//a/b', '/a//b', '/a%2fb', '/a%2Fb', '/a/./b', '/a/x/../b', '/a/b/', '/a/b?', '/a/b?x', '/A/b', '/a/%62',
    '/a/b;x', '/a/b%3Fx', '/a\\b'
  ]
  for (const url of urls) {
    const target = () => edge.raw(`GET ${url} HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\n\r\n`)
    assert.match(await target(), /CF-Cache-Status: MISS/, url)
    const hit = await target()
    assert.match(hit, /CF-Cache-Status: HIT/, url)
    assert.equal(hit.slice(hit.indexOf('\r\n\r\n') + 4), url)
  }
})

test('an HTTP/1.0 request without Host gets the address of the edge as its host', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response.setHeader('Cache-Control', 'max-age=60').end(request.headers.host)
  )
  assert.match(await edge.raw('GET / HTTP/1.0\r\n\r\n'), new RegExp(`CF-Cache-Status: MISS[^]*${edge.host}$`))
  assert.equal((await edge.get('/')).cache, 'HIT')
})

test('a request with a keyed header such as X-Forwarded-Host does not change the responses to others', async (t) => {
  for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
    const edge = await startEdge(
      t,
      (request, response) => response.setHeader('Cache-Control', 'max-age=60').end(
        `${request.headers['x-forwarded-host']} ${request.headers['x-original-url']} ${request.headers['x-http-method-override']} ${request.headers['x-forwarded-proto']}`
      ),
      { profile }
    )
    for (const [index, name] of [
      'X-Forwarded-Host', 'X-Original-URL', 'X-HTTP-Method-Override', 'X-Forwarded-Proto'
    ].entries()) {
      assert.match((await edge.get(`/${index}`, { [name]: 'evil' })).body, /evil/)
      assert.equal((await edge.get(`/${index}`)).body, 'undefined undefined undefined http')
      assert.equal((await edge.get(`/${index}`, { [name]: 'evil' })).cache, 'HIT')
      await edge.purge({ files: [`http://${edge.host}/${index}`] })
      assert.equal((await edge.get(`/${index}`, { [name]: 'evil' })).cache, 'MISS')
    }
    await edge.get('/port', { host: '127.0.0.1:1' })
    assert.equal((await edge.get('/port')).cache, 'MISS')
  }
})

test('if the cache folder is missing, the edge still answers, without caching', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response.setHeader('Cache-Control', 'max-age=60')
      .end(request.url === '/large' ? 'x'.repeat(300_000) : 'body')
  )
  rmSync(path.join(edge.directory, 'answers'), { recursive: true })
  for (let count = 1; count <= 2; count++) {
    assert.equal((await edge.get('/')).body, 'body')
    assert.equal((await edge.get('/large')).body.length, 300_000)
    assert.equal(edge.reached('/'), count)
  }
})

test('when the stored responses exceed maxSizeBytes, the oldest is evicted first', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end('x'.repeat(200_000)),
    { maxSizeBytes: 1024 ** 2 }
  )
  for (let count = 0; count < 12; count++) assert.equal((await edge.get(`/${count}`)).body.length, 200_000)
  assert.equal((await edge.get('/11')).cache, 'HIT')
  assert.equal((await edge.get('/0')).cache, 'MISS')
})

test('a client that does not read stops the origin from sending instead of filling the edge\'s memory', async (t) => {
  let written = 0
  const chunk = Buffer.alloc(1024 ** 2)
  const edge = await startEdge(t, (_request, response) => {
    response.on('error', () => {})
    response.setHeader('Cache-Control', 'no-store')
    const more = () => {
      while (written < 200 && !response.destroyed) {
        written += 1
        if (!response.write(chunk)) return response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const socket = net.connect(edge.port, '127.0.0.1', () => socket.write(`GET / HTTP/1.1\r\nHost: ${edge.host}\r\n\r\n`))
  socket.on('error', () => {})
  socket.pause()
  let before = -1
  await waitUntil(() => {
    const still = written > 0 && written === before
    before = written
    return still
  }, WAIT_MAX_MS, 500)
  // The kernel's buffers of four sockets hold this much.
  assert.ok(written < 24, `${written} MiB`)
  socket.destroy()
})
