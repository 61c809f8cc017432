import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import test from 'node:test'
import { answerMalformed } from '../src/http/malformed-requests.js'
import { SECURITY_HEADERS } from '../src/http/security-headers.js'
import { get, save, useWiki } from './helper.js'

const wiki = useWiki()
const PATIENCE_MS = 20_000

/** @param {import('node:http').Server} server */
const portOf = (server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port

/**
 * Sends a text and reads the response until the server closes the connection.
 * @param {number} port
 * @param {string} text
 */
async function exchange (port, text) {
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(PATIENCE_MS, () =>
    socket.destroy(new Error(`the server did not close the connection after ${JSON.stringify(text.slice(0, 100))}`)))
  socket.write(text)
  const answer = (await buffer(socket)).toString()
  const [head, body] = [answer.slice(0, answer.indexOf('\r\n\r\n')), answer.slice(answer.indexOf('\r\n\r\n') + 4)]
  const [statusLine, ...fields] = head.split('\r\n')
  const headers = Object.fromEntries(fields.map((field) =>
    [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]))
  return { status: Number(statusLine.split(' ')[1]), headers, body }
}

/** @param {Awaited<ReturnType<typeof exchange>>} answer @param {number} status @param {string} label */
function assertProblem ({ status: given, headers, body }, status, label) {
  assert.equal(given, status, label)
  assert.match(headers['content-type'], /^application\/problem\+json/, label)
  assert.equal(Number(headers['content-length']), Buffer.byteLength(body), label)
  assert.equal(headers['cache-control'], 'no-store', label)
  assert.equal(headers.connection, 'close', label)
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) assert.equal(headers[name], value, label)
  const problem = JSON.parse(body)
  assert.equal(problem.status, status, label)
  assert.match(problem.detail, /\.$/, label)
}

const HOST = 'Host: wiki.example\r\n'
const POST = `POST /api/v1/preview HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

/**
 * Texts that Node does not pass to request listeners.
 * @type {[number, string, string][]}
 */
const MALFORMED = [
  [431, 'a long header field', `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(20_000)}\r\n\r\n`],
  [431, 'many header fields', `GET / HTTP/1.1\r\n${HOST}${'Xxxxxx: yyyyyy\r\n'.repeat(4_000)}\r\n`],
  [431, 'a long target', `GET /wiki/${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`],
  [501, 'an unknown method', `FROB / HTTP/1.1\r\n${HOST}\r\n`],
  [501, 'a method in lower case', `get / HTTP/1.1\r\n${HOST}\r\n`],
  [501, 'CONNECT', 'CONNECT wiki.example:443 HTTP/1.1\r\nHost: wiki.example:443\r\n\r\n'],
  [505, 'an unknown HTTP version', `GET / HTTP/9.7\r\n${HOST}\r\n`],
  [400, 'no HTTP version', 'GET nonsense\r\n\r\n'],
  [501, 'a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  [400, 'a null character in a field', `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`],
  [400, 'a space in a field name', `GET / HTTP/1.1\r\n${HOST}X y: a\r\n\r\n`],
  [400, 'a space before the colon', `GET / HTTP/1.1\r\n${HOST}X : a\r\n\r\n`],
  [400, 'a folded field', `GET / HTTP/1.1\r\n${HOST} folded: a\r\n\r\n`],
  [400, 'two Content-Length fields', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
  [400, 'Content-Length and chunked', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  [400, 'a negative Content-Length', `${POST}Content-Length: -1\r\n\r\n`],
  [400, 'a Content-Length in words', `${POST}Content-Length: two\r\n\r\n{}`],
  [400, 'a coding after chunked', `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n`],
  [400, 'a chunk without a length', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  [400, 'a chunk longer than it says', `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n`],
  [413, 'a long chunk extension', `${POST}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}\r\n`],
  [417, 'an unknown expectation', `GET / HTTP/1.1\r\n${HOST}Expect: miracles\r\n\r\n`]
]

test('a malformed request gets a problem document, and its connection is closed', async (t) => {
  const app = await wiki.build(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  for (const [status, label, text] of MALFORMED) assertProblem(await exchange(portOf(app.server), text), status, label)
  // Node itself answers a request without Host.
  assert.equal((await exchange(portOf(app.server), 'GET / HTTP/1.1\r\n\r\n')).status, 400)
  assert.equal((await get(app, '/')).statusCode, 200)
})

test('a request that does not arrive in time gets 408 with a problem document', async (t) => {
  const server = createServer({ requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 })
  t.after(() => server.close())
  server.on('clientError', answerMalformed)
  server.on('request', (incoming) => incoming.resume())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  for (const text of ['GET / HTTP/1.1\r\n', `${POST}Content-Length: 5\r\n\r\n{`]) {
    assertProblem(await exchange(portOf(server), text), 408, text)
  }
})

test('a parse error after the start of a response does not write a second response into it', async (t) => {
  const server = createServer()
  t.after(() => server.close())
  server.on('clientError', answerMalformed)
  const begun = once(server, 'request')
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect(portOf(server), '127.0.0.1')
  socket.write(`${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`)
  const [, response] = await begun
  response.writeHead(200, { 'content-length': 10 })
  response.write('first')
  const received = buffer(socket)
  await once(socket, 'readable')
  socket.write('zz\r\n')
  const text = (await received.catch((/** @type {Error} */ error) => error.message)).toString()
  assert.doesNotMatch(text, /HTTP\/1\.1 400/)
})

test('clients that reset their connection in the middle of a request do not stop the server', async (t) => {
  const app = await wiki.build(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  for (let count = 0; count < 20; count++) {
    const socket = connect(portOf(app.server), '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET / HT')
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  assert.equal(
    (await exchange(portOf(app.server), `GET /healthz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)).status,
    200
  )
})

test('every route answers an unsupported method, even TRACE, with 405 and the allowed methods', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const patterns = new Set(/** @type {{url: string}[]} */ (/** @type {any} */ (app).rules).map(({ url }) => url))
  assert.ok(patterns.size > 30)
  for (const pattern of patterns) {
    for (const method of ['TRACE', 'QUERY', 'PROPFIND', 'M-SEARCH', 'LOCK']) {
      const path = pattern.replace('*', 'a').replace(/:\w+/g, 'a')
      const headers = method === 'QUERY' ? { 'content-type': 'application/json' } : {}
      const outgoing = request({ host: '127.0.0.1', port: portOf(app.server), path, method, headers, agent: false })
        .end()
      const [answer] = await once(outgoing, 'response')
      answer.resume()
      assert.equal(answer.statusCode, 405, `${method} ${path}`)
      assert.match(
        String(answer.headers.allow),
        /^(?:GET|HEAD|POST|PUT|PATCH|DELETE)(?:, (?:GET|HEAD|POST|PUT|PATCH|DELETE))*$/,
        `${method} ${path}`
      )
    }
  }
})
