import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

const AT_ONCE = 16
const INNER = 'GET /smuggled HTTP/1.1\r\nHost: inner.example\r\n\r\n'
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD']
/** Spellings of chunked that one parser accepts and another does not. */
const CODINGS = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked ',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding: chunked\x00',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding:\r\n chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'Transfer_Encoding: chunked',
  ' Transfer-Encoding: chunked',
  'Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nConnection: close, Content-Length',
  'Content-Encoding: chunked'
]
/** None, that of the last chunk, that of the last chunk and the request after it, both, and a malformed one. */
const LENGTHS = [
  '',
  'Content-Length: 5\r\n',
  `Content-Length: ${5 + INNER.length}\r\n`,
  `Content-Length: 5\r\nContent-Length: ${5 + INNER.length}\r\n`,
  'Content-Length: +5\r\n'
]

test('none of 600 requests with ambiguous body lengths changes the response to another client', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    request.resume().on('end', () => response.setHeader('Cache-Control', 'max-age=60').end(`answer to ${request.url}`))
  })
  const workers = edge.workers()
  const requests = METHODS.flatMap((method) => CODINGS.flatMap((coding) => LENGTHS.map((length) => ({
    method,
    coding,
    length
  }))))
  assert.equal(requests.length, 600)
  const queue = [...requests.entries()]
  async function next () {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
      const [number, { method, coding, length }] = item
      const head = `${method} /outer-${number} HTTP/1.1\r\nHost: ${edge.host}\r\n${length}${coding}\r\n\r\n`
      const last = `GET /last-${number} HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\n\r\n`
      const answers = await edge.raw(`${head}0\r\n\r\n${INNER}${last}`).catch(() => '')
      // A parser that uses only one of the two lengths may see three requests, but all are from this client.
      const told = answers.match(/answer to \/[a-z]+(-\d+)?/g) ?? []
      for (const answer of told) {
        assert.ok(
          [`answer to /outer-${number}`, `answer to /last-${number}`, 'answer to /smuggled'].includes(answer),
          JSON.stringify(head)
        )
      }
      // Nothing of it is left on a connection to the origin, which another client may use next.
      assert.equal((await edge.get(`/other-${number}`)).body, `answer to /other-${number}`, JSON.stringify(head))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  for (const request of edge.arrived) {
    if (request.url !== '/smuggled') continue
    assert.equal(request.headers.host, 'inner.example')
    assert.ok(request.headers['cf-ray'], 'the edge has parsed it as a request and added CF-Ray')
  }
  assert.deepEqual(edge.workers(), workers)
})

const DELIMITERS = ['/', ';', '%2f', '%00', '%0a', '?', '.']
const SUFFIXES = ['x.css', 'x.js', 'x.png', 'robots.txt', 'favicon.ico', 'static/x.jpg', '../x.css']

test('a private page is not shared under a URL that looks like a static file, in 49 spellings', async (t) => {
  for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
    const edge = await startEdge(t, ({ headers }, response) => {
      response.setHeader('Cache-Control', 'private, max-age=60').end(`of ${headers.cookie}`)
    }, { profile })
    for (const delimiter of DELIMITERS) {
      for (const suffix of SUFFIXES) {
        const url = `/account${delimiter}${suffix}`
        const own = await edge.get(url, { cookie: 'victim' })
        const other = await edge.get(url, { cookie: 'attacker' })
        assert.ok(own.status === 400 || own.body === 'of victim', url)
        assert.ok(other.status === 400 || other.body === 'of attacker', url)
      }
    }
  }
})
