import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteServer, httpDate, passing, startEdge } from './edge-helper.js'

const STANDARD = { profile: /** @type {const} */ ('rfc9111') }

test('directives that the edge does not know pass in both directions, and are stored', async (t) => {
  const said = 'max-age=60, X-Unknown, y="a, b"'
  const edge = await startEdge(t, (_request, response) => response.setHeader('Cache-Control', said).end('body'), STANDARD)
  for (const [method, url] of [['GET', '/'], ['GET', '/'], ['POST', '/'], ['HEAD', '/head']]) {
    assert.equal((await edge.get(url, { 'cache-control': said }, method)).headers['cache-control'], said, method)
  }
  assert.deepEqual(edge.arrived.map(({ headers }) => headers['cache-control']), Array(3).fill(said))
})

test('a 304 and a 206 have the fields of the 200 that a cache needs, and a 304 describes no body', async (t) => {
  const fields = {
    'cache-control': 'max-age=60',
    'content-location': '/en',
    date: httpDate(0),
    etag: '"one"',
    expires: httpDate(60),
    vary: 'accept-language',
    'content-type': 'text/x-test',
    'content-language': 'en',
    'content-encoding': 'x'
  }
  const edge = await startEdge(t, (_request, response) => response.writeHead(200, fields).end('0123456789'), STANDARD)
  await edge.get('/')
  for (const [headers, status, without] of /** @type {[Record<string, string>, number, string[]][]} */ ([
    [{ range: 'bytes=2-4' }, 206, []],
    [{ 'if-none-match': '"one"' }, 304, ['content-type', 'content-language', 'content-encoding', 'content-length']]
  ])) {
    const answer = await edge.get('/', headers)
    assert.deepEqual([answer.status, answer.cache], [status, 'HIT'])
    for (const [name, value] of Object.entries(fields)) {
      assert.equal(answer.headers[name], without.includes(name) ? undefined : value, `${status} ${name}`)
    }
    assert.equal(answer.headers['content-length'], status === 304 ? undefined : '3')
    assert.equal(answer.headers['transfer-encoding'], undefined)
  }
})

test('a 204 has no Content-Length, stored or passed on', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.write(
    'HTTP/1.1 204 No Content\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n')), STANDARD)
  for (const [method, cache] of [['GET', 'MISS'], ['GET', 'HIT'], ['HEAD', 'HIT'], ['PUT', 'DYNAMIC']]) {
    const { status, headers, cache: said } = await edge.get('/', {}, method)
    assert.deepEqual([status, said, headers['content-length'], headers['transfer-encoding']],
      [204, cache, undefined, undefined])
  }
})

test('the edge gives no Content-Type to a response that has none', async (t) => {
  const edge = await startEdge(
    t, (_request, response) => response.setHeader('Cache-Control', 'max-age=60').end('body'), STANDARD
  )
  for (const method of ['GET', 'GET', 'POST']) {
    assert.equal((await edge.get('/', {}, method)).headers['content-type'], undefined)
  }
})

test('only the response to a GET is stored, whatever that to another method says', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    response.writeHead(200, { 'cache-control': 'public, max-age=60', 'content-location': request.url }).end(request.method)
  }, STANDARD)
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
    const url = `/${method}`
    await edge.get(url, {}, method)
    assert.equal((await edge.get(url, {}, method)).body, method === 'HEAD' ? '' : method)
    assert.equal(edge.reached(url), 2)
    const { cache, body } = await edge.get(url)
    assert.deepEqual([cache, body], ['MISS', 'GET'], method)
  }
})

test('a part in a unit that the edge does not know is passed on, and not stored', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    if (request.headers.range === undefined) return response.setHeader('Cache-Control', 'max-age=60').end('whole')
    response.writeHead(206, { 'cache-control': 'max-age=60', etag: '"one"', 'content-range': 'lines 1-2/9' }).end('part')
  }, STANDARD)
  const part = await edge.get('/', { range: 'lines=1-2' })
  assert.deepEqual([part.status, part.headers['content-range'], part.body], [206, 'lines 1-2/9', 'part'])
  const whole = await edge.get('/')
  assert.deepEqual([whole.cache, whole.body], ['MISS', 'whole'])
})

test('a part that the origin sends without need is passed on, and not stored', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => count === 1
    ? response.writeHead(206, { 'cache-control': 'max-age=60', 'content-range': 'bytes 9-1/5' }).end('x')
    : response.setHeader('Cache-Control', 'max-age=60').end('whole'))
  assert.equal((await edge.get('/')).status, 206)
  const { cache, body } = await edge.get('/')
  assert.deepEqual([cache, body], ['MISS', 'whole'])
})

test('the conditions and ranges of other methods are forwarded, and not evaluated', async (t) => {
  const conditions = { 'if-none-match': '"one"', 'if-modified-since': httpDate(60), range: 'bytes=0-1' }
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=60', etag: '"one"', 'last-modified': httpDate(-60) }).end('body')
  }, STANDARD)
  await edge.get('/')
  for (const method of ['OPTIONS', 'POST', 'DELETE']) {
    const { status, body } = await edge.get('/', conditions, method)
    assert.deepEqual([status, body], [200, 'body'], method)
    const { headers } = edge.arrived[edge.arrived.length - 1]
    for (const [name, value] of Object.entries(conditions)) assert.equal(headers[name], value, `${method} ${name}`)
  }
})

test('a status above 599 counts as a 5xx', async (t) => {
  const edge = await startEdge(t, byteServer((socket, head) => {
    const broken = head.includes('x-broken')
    const line = broken ? '700 X' : '200 OK'
    socket.write(`HTTP/1.1 ${line}\r\nCache-Control: max-age=1, stale-if-error=60\r\nContent-Length: 4\r\n\r\nbody`)
  }), STANDARD)
  assert.equal((await edge.get('/new', { 'x-broken': '1' })).status, 700)
  await edge.get('/')
  assert.equal((await edge.get('/', { 'x-broken': '1' }, 'POST')).status, 700)
  assert.equal((await edge.get('/')).status, 200)
  await passing(1_050)
  const { status, cache } = await edge.get('/', { 'x-broken': '1' })
  assert.deepEqual([status, cache], [200, 'STALE'])
})

test('what the edge itself answers explains the error in words', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => socket.destroy()), STANDARD)
  for (const [headers, status, words] of /** @type {[Record<string, string>, number, RegExp][]} */ ([
    [{}, 502, /could not be reached/], [{ 'cache-control': 'only-if-cached' }, 504, /not in the cache/]
  ])) {
    const answer = await edge.get('/', headers)
    assert.equal(answer.status, status)
    assert.match(answer.body, words)
    assert.match(String(answer.headers['content-type']), /^text\/plain/)
    assert.equal((await edge.get('/', headers, 'HEAD')).body, '')
  }
})

test('the time that the response took counts as age', async (t) => {
  const edge = await startEdge(t, byteServer((socket) => {
    const fields = 'Cache-Control: max-age=60\r\nAge: 10\r\nContent-Length: 4'
    setTimeout(() => socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\nbody`), 2_000)
  }), STANDARD)
  await edge.get('/')
  const { cache, age } = await edge.get('/')
  assert.equal(cache, 'HIT')
  assert.ok(Number(age) >= 12, String(age))
})
