import assert from 'node:assert/strict'
import { request } from 'node:http'
import test from 'node:test'
import { breakPage, BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

test('an error is a problem document for programs, an HTML page for browsers, and never stored', async (t) => {
  const app = await wiki.build(t)
  const program = await get(app, '/nowhere')
  assert.equal(program.statusCode, 404)
  assert.match(String(program.headers['content-type']), /^application\/problem\+json/)
  assert.equal(program.headers['cache-control'], 'no-store')
  const { request_id: id, ...problem } = program.json()
  assert.match(id, /^[0-9a-f]{8}-\d+$/)
  assert.deepEqual(problem, {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'There is nothing at this address.'
  })

  const person = await get(app, '/nowhere', BROWSER)
  assert.equal(person.statusCode, 404)
  assert.equal(person.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(person.headers['cache-control'], 'no-store')
  assert.match(person.body, /<h1>Not found<\/h1>\n<p>There is nothing at this address\.<\/p>/)
})

test('every response forbids foreign scripts, framing and MIME sniffing, and sets no cookie', async (t) => {
  const app = await wiki.build(t)
  for (const url of [
    '/', '/pages', '/wiki', '/wiki/', '/wiki/none', '/edit/new/a', '/wiki/stevec', '/edit/new', '/edit/text/a',
    '/search?q=a', '/tags', '/tags/a', '/links/a', '/tree/a',
    '/wanted', '/orphaned', '/dead-ends', '/overdue', '/care', '/random', '/healthz', '/nowhere', '/wiki/%zz',
    '/favicon.ico'
  ]) {
    for (const headers of [{}, BROWSER]) {
      const answer = await get(app, url, headers)
      assert.match(
        String(answer.headers['content-security-policy']),
        /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
        url
      )
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      assert.ok(answer.headers['referrer-policy'])
      assert.equal(answer.headers['set-cookie'], undefined)
      assert.doesNotMatch(
        answer.body,
        /<script(?! type="module" src="\/assets\/\w+\.[0-9a-f]+\.js"><\/script>)|<style|\sstyle=|\son\w+=/
      )
    }
  }
})

test('an unsupported method gets 405, with the supported methods in Allow', async (t) => {
  const app = await wiki.build(t)
  for (const [method, url, allow] of /** @type {const} */ ([
    ['PUT', '/wiki/a', 'GET, HEAD, POST, DELETE'],
    ['PATCH', '/wiki/a', 'GET, HEAD, POST, DELETE'],
    ['PURGE', '/wiki/a', 'GET, HEAD, POST, DELETE'],
    ['POST', '/', 'GET, HEAD'],
    ['OPTIONS', '/', 'GET, HEAD'],
    ['PUT', '/edit/text/a', 'GET, HEAD, POST'],
    ['POST', '/edit/new', 'GET, HEAD'],
    ['GET', '/edit/preview/a', 'POST'],
    ['POST', '/edit/new/a', 'GET, HEAD'],
    ['POST', '/wiki/', 'GET, HEAD'],
    ['POST', '/pages', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/favicon.ico', 'GET, HEAD']
  ])) {
    const answer = await app.inject({ method: /** @type {'GET'} */ (method), url })
    assert.equal(answer.statusCode, 405, `${method} ${url}`)
    assert.equal(answer.headers.allow?.toString().split(', ').sort().join(), allow.split(', ').sort().join(), url)
  }
})

test('the style sheet is served as immutable; a missing asset gets 404 with no-store', async (t) => {
  const app = await wiki.build(t)
  const { body } = await get(app, '/')
  const [, styleUrl] = /<link rel="stylesheet" href="(\/assets\/style\.[0-9a-f]+\.css)">/.exec(body) ?? []
  const style = await get(app, styleUrl)
  assert.equal(style.statusCode, 200)
  assert.equal(style.headers['content-type'], 'text/css; charset=utf-8')
  assert.equal(style.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.ok(style.rawPayload.length <= 16_500, `${style.rawPayload.length} bytes`)

  for (const url of [
    '/assets/style.000000000000.css', '/assets/style.css', '/assets/', '/assets/..%2fserver.js',
    '/assets/%2e%2e%2fserver.js'
  ]) {
    const missing = await get(app, url)
    assert.equal(missing.statusCode, 404, url)
    assert.equal(missing.headers['cache-control'], 'no-store')
  }
  assert.equal((await get(app, '/favicon.ico')).headers['content-type'], 'image/svg+xml')
})

test('a cross-site change is refused with 403', async (t) => {
  const app = await wiki.build(t)
  const host = 'wiki.localhost:8080'
  /** @type {[number, Record<string, string>][]} */
  const cases = [
    [201, {}],
    [200, { 'sec-fetch-site': 'same-origin', origin: 'http://other.example' }],
    [200, { 'sec-fetch-site': 'none' }],
    [200, { origin: `http://${host}` }],
    [200, { origin: `https://${host}` }],
    [403, { 'sec-fetch-site': 'cross-site' }],
    [403, { 'sec-fetch-site': 'same-site', origin: `http://${host}` }],
    [403, { 'sec-fetch-site': 'nonsense' }],
    [403, { origin: 'http://other.example' }],
    [403, { origin: 'http://wiki.localhost:9090' }],
    [403, { origin: 'http://wiki.localhost' }],
    [403, { origin: 'null' }],
    [403, { origin: 'nonsense' }]
  ]
  for (const [status, headers] of cases) {
    for (const [method, url, expected] of /** @type {const} */ ([
      ['POST', '/wiki/a', status],
      ['DELETE', '/wiki/none', status === 403 ? 403 : 404],
      ['POST', '/edit/delete/none', status === 403 ? 403 : 404]
    ])) {
      const answer = await app.inject({
        method,
        url,
        headers: { host, ...headers, ...(url === '/wiki/a' && { 'content-type': 'text/markdown' }) },
        ...(url === '/wiki/a' && { payload: 'text' })
      })
      assert.equal(answer.statusCode, expected, `${method} ${url} ${JSON.stringify(headers)}`)
    }
  }
  assert.equal(
    (await get(app, '/wiki/a', { 'sec-fetch-site': 'cross-site', origin: 'http://other.example' })).statusCode,
    200,
    'cross-site reads are allowed'
  )
})

test('malformed requests never cause a 5xx response', async (t) => {
  const app = await wiki.build(t)
  const paths = [
    '/', '/pages', '/wiki', '/wiki/', '/wiki/a', '/edit/text/', '/edit/new', '/edit/new/', '/edit/delete/', '/search',
    '/tags/', '/links/', '/tree/', '/history/',
    '/revision/', '/revision/a/', '/raw/', '/difference/a', '/changes', '/orphaned', '/wanted', '/dead-ends', '/care',
    '/overdue', '/random', '/wiki//', '//',
    '/wiki/a/b', '/WIKI/a', '/constructor', '/__proto__', '/wiki/__proto__', '/wiki/constructor'
  ]
  const tails = [
    '', '?', '?saved=%00', '?q=%00', '?q=\\', '?after=%F0', '?under=', '?under=%00', '?under=..', '?__proto__=x',
    '?constructor[prototype]=x',
    `?q=${'%'.repeat(50)}`, '%', '%00', '%c0%ae', '%F0%9F', '%2500', '%u0041', ';x', `${'a'.repeat(5_000)}`
  ]
  const bodies = /** @type {const} */ ([
    ['application/json', '{"content":{"$gt":""}}'],
    ['application/json', '\u0000'],
    ['text/markdown', '\u0000'],
    ['application/x-www-form-urlencoded', '%%%&&==content=%'],
    ['application/x-www-form-urlencoded', `${'a=b&'.repeat(5_000)}`]
  ])
  for (const path of paths) {
    for (const tail of tails) {
      for (const method of /** @type {const} */ (['GET', 'HEAD', 'DELETE', 'PUT'])) {
        const { statusCode } = await app.inject({ method, url: path + tail })
        assert.ok(statusCode < 500, `${method} ${path}${tail}: ${statusCode}`)
      }
      for (const [type, payload] of bodies) {
        const { statusCode } = await app.inject({
          method: 'POST',
          url: path + tail,
          headers: { 'content-type': type },
          payload
        })
        assert.ok(statusCode < 500, `POST ${path}${tail} ${type} ${payload.slice(0, 20)}: ${statusCode}`)
      }
    }
  }
})

test('dot segments in a page URL are refused, not resolved', async (t) => {
  const app = await wiki.build(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  for (const [path, status] of /** @type {[string, number][]} */ ([
    ['/wiki/..', 400],
    ['/wiki/.', 400],
    ['/wiki/%2e%2e', 400],
    ['/wiki/%2E', 400],
    ['/wiki/../etc/passwd', 400],
    ['/wiki/a/../../etc/passwd', 400],
    ['/wiki/..%2f..%2fetc%2fpasswd', 400],
    ['/wiki/..%5cx', 400],
    ['/wiki/%252e%252e', 404],
    ['http://evil.example/wiki/..', 400]
  ])) {
    const answered = await new Promise((resolve, reject) => {
      request(
        { port, host: '127.0.0.1', path, agent: false },
        (response) => { response.resume(); resolve(response.statusCode) }
      ).once('error', reject).end()
    })
    assert.equal(answered, status, path)
  }
})

test('the response to an unexpected error reveals no internals', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'a', 'text')
  await breakPage(uri, 'a')
  for (const headers of [{}, BROWSER]) {
    const answer = await get(app, '/wiki/a', headers)
    assert.equal(answer.statusCode, 500)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.match(answer.body, /Something went wrong in the wiki\. It has been logged\./)
    assert.doesNotMatch(answer.body, /rendered_at|undefined|Error:/i)
  }
})
