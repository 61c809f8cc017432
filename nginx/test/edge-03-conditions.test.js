import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { passing, startEdge } from './edge-helper.js'

const MODIFIED = 'Mon, 02 Jun 2025 10:00:00 GMT'

describe('a condition on a stored response', () => {
  /** @type {Awaited<ReturnType<typeof startEdge>>} */
  let edge
  before(async () => {
    edge = await startEdge(null, (request, response) => {
      if (request.url !== '/dated') response.setHeader('ETag', request.url === '/weak' ? 'W/"a,b"' : '"one"')
      response.setHeader('Last-Modified', MODIFIED)
        .setHeader('Cache-Control', 'max-age=60')
        .setHeader('Content-Language', 'en')
        .end('body')
    })
    for (const url of ['/strong', '/weak', '/dated']) await edge.get(url)
  })
  after(() => edge.stop())

  for (const [url, headers, status] of /** @type {[string, Record<string, string>, number][]} */ ([
    ['/strong', { 'if-none-match': '"one"' }, 304],
    ['/strong', { 'if-none-match': 'W/"one"' }, 304],
    ['/strong', { 'if-none-match': 'w/"one"' }, 200],
    ['/strong', { 'if-none-match': '"two"' }, 200],
    ['/strong', { 'if-none-match': '"two", "one"' }, 304],
    ['/strong', { 'if-none-match': '"two","one" , "three"' }, 304],
    ['/strong', { 'if-none-match': '*' }, 304],
    ['/weak', { 'if-none-match': '"a,b"' }, 304],
    ['/weak', { 'if-none-match': '"a", "b"' }, 200],
    ['/strong', { 'if-modified-since': MODIFIED }, 304],
    ['/strong', { 'if-modified-since': 'Tue, 03 Jun 2025 10:00:00 GMT' }, 304],
    ['/strong', { 'if-modified-since': 'Sun, 01 Jun 2025 10:00:00 GMT' }, 200],
    ['/strong', { 'if-modified-since': 'soon' }, 200],
    ['/strong', { 'if-modified-since': `${MODIFIED}, ${MODIFIED}` }, 200],
    ['/strong', { 'if-none-match': '"two"', 'if-modified-since': MODIFIED }, 200],
    ['/strong', { 'if-none-match': '"one"', 'if-modified-since': 'Sun, 01 Jun 2025 10:00:00 GMT' }, 304],
    ['/dated', { 'if-none-match': '"one"' }, 200],
    ['/dated', { 'if-modified-since': 'Monday, 02-Jun-25 10:00:00 GMT' }, 304],
    ['/dated', { 'if-modified-since': 'Mon Jun  2 10:00:00 2025' }, 304],
    ['/strong', { 'if-match': '"two"' }, 200],
    ['/strong', { 'if-unmodified-since': 'Sun, 01 Jun 2025 10:00:00 GMT' }, 200]
  ])) {
    test(`${url} ${JSON.stringify(headers)} → ${status}`, async () => {
      const answer = await edge.get(url, headers)
      assert.equal(answer.status, status)
      assert.equal(answer.cache, 'HIT')
      assert.equal(answer.body, status === 304 ? '' : 'body')
      assert.equal(answer.headers['last-modified'], MODIFIED)
      assert.equal(answer.headers['content-language'], status === 304 ? undefined : 'en')
      assert.equal(edge.reached(url), 1)
    })
  }
})

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  test(`a matching condition on a page that is not stored gets a 304: ${profile}`, async (t) => {
    const edge = await startEdge(t, (request, response) => {
      response.setHeader('ETag', '"one"').setHeader('Cache-Control', 'max-age=60')
      if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
      else response.end('body')
    }, { profile })
    const first = await edge.get('/', { 'if-none-match': '"one"' })
    assert.deepEqual([first.status, first.cache], [304, 'MISS'])
    // Cloudflare fetches the whole response and evaluates the condition itself. In rfc9111 the origin evaluates it
    // (RFC 9111 §4.3.1), and nothing is stored.
    assert.equal(edge.arrived[0].headers['if-none-match'], profile === 'cloudflare' ? undefined : '"one"')
    assert.equal((await edge.get('/')).cache, profile === 'cloudflare' ? 'HIT' : 'MISS')
    assert.equal((await edge.get('/', { 'if-none-match': '"other"' })).body, 'body')
  })

  test(`a 304 updates headers and age of the stored response: ${profile}`, async (t) => {
    const edge = await startEdge(t, (request, response, count) => {
      response.setHeader('ETag', '"one"')
        .setHeader('Cache-Control', count === 1 ? 'max-age=1' : 'max-age=60')
        .setHeader('X-Count', String(count))
        .setHeader('Content-Type', count === 1 ? 'text/plain' : 'text/css')
        .setHeader('Content-MD5', `md5-${count}`)
      if (count === 1) response.setHeader('X-First', '1')
      if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
      else response.end('body')
    }, { profile })
    await edge.get('/')
    await passing(1_050)
    const revalidated = await edge.get('/')
    assert.deepEqual(
      [revalidated.status, revalidated.cache, revalidated.body, revalidated.age],
      [200, 'REVALIDATED', 'body', 0]
    )
    assert.deepEqual(
      ['x-count', 'x-first', 'content-type', 'content-md5'].map((name) => revalidated.headers[name]),
      ['2', '1', 'text/css', 'md5-1']
    )
    const hit = await edge.get('/')
    assert.deepEqual(
      [hit.cache, hit.body, hit.headers['x-count'], hit.headers['content-type']],
      ['HIT', 'body', '2', 'text/css']
    )
    assert.equal((await edge.get('/', { 'if-none-match': '"one"' })).status, 304)
    assert.equal(edge.reached('/'), 2)
  })
}

test('the edge revalidates with its own ETag and then evaluates the client\'s condition', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('ETag', '"one"').setHeader('Cache-Control', 'max-age=1')
    if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
    else response.end('body')
  })
  await edge.get('/')
  await passing(1_050)
  assert.equal((await edge.get('/', { 'if-none-match': '"two"' })).body, 'body')
  assert.equal(edge.arrived.at(-1)?.headers['if-none-match'], '"one"')
})

for (const [status, headers] of /** @type {[number, Record<string, string>][]} */ ([
  [412, { 'if-match': '"other"' }], [416, { range: 'bytes=100-' }]
])) {
  test(`a ${status} for one client is not served to others`, async (t) => {
    const edge = await startEdge(t, (request, response) => {
      const isRefused = request.headers['if-match'] !== undefined || request.headers.range !== undefined
      response.writeHead(isRefused ? status : 200, { 'cache-control': 'max-age=60', etag: '"one"' }).end('body')
    }, { profile: 'rfc9111' })
    await edge.get('/', headers)
    const answer = await edge.get('/')
    assert.deepEqual([answer.status, answer.body], [200, 'body'])
  })
}

test('a condition is ignored on a stored response that is no 200', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(404, { 'cache-control': 'max-age=60', etag: '"one"', 'last-modified': MODIFIED }).end('none')
  })
  await edge.get('/')
  for (const [name, value] of [['if-none-match', '"one"'], ['if-modified-since', MODIFIED]]) {
    const answer = await edge.get('/', { [name]: value })
    assert.deepEqual([answer.status, answer.cache, answer.body], [404, 'HIT', 'none'])
  }
})

test('after a 304 with another ETag the edge fetches the response again', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('ETag', `"${count}"`).setHeader('Cache-Control', 'max-age=1')
    if (request.headers['if-none-match']) response.writeHead(304).end()
    else response.end(`body ${count}`)
  })
  await edge.get('/')
  await passing(1_050)
  assert.equal((await edge.get('/')).body, 'body 3')
})

describe('a 304 updates the stored response', () => {
  const [LATER, LAST] = ['Tue, 03 Jun 2025 10:00:00 GMT', 'Wed, 04 Jun 2025 10:00:00 GMT']
  /** @typedef {Record<string, string>} Fields */
  /** The validators of the stored response and of the 304. @type {[stored: Fields, said: Fields, is: boolean][]} */
  const cases = [
    [{ etag: '"1"' }, { etag: '"1"' }, true],
    [{ etag: '"1"' }, { etag: 'W/"1"' }, true],
    [{ etag: 'W/"1"' }, { etag: 'W/"1"' }, true],
    [{ etag: 'W/"1"' }, { etag: '"1"' }, false],
    [{ etag: 'W/"1"', 'last-modified': MODIFIED }, { etag: '"1"', 'last-modified': MODIFIED }, true],
    [{ etag: 'W/"1"', 'last-modified': LAST }, { etag: '"1"', 'last-modified': LAST }, false],
    [{ etag: '"1"', 'last-modified': MODIFIED }, { etag: '"1"', 'last-modified': LATER }, true],
    [{ etag: '"1"', 'last-modified': MODIFIED }, { etag: '"2"', 'last-modified': MODIFIED }, false],
    [{ etag: '"1"', 'last-modified': MODIFIED }, { 'last-modified': LATER }, false],
    [{ 'last-modified': MODIFIED }, { 'last-modified': MODIFIED }, true],
    [{ 'last-modified': MODIFIED }, { 'last-modified': LATER }, false],
    [{ 'last-modified': MODIFIED }, { etag: '"1"' }, false],
    [{ 'last-modified': MODIFIED }, { etag: 'W/"1"' }, false],
    [{ etag: '"1"', 'last-modified': MODIFIED }, {}, true]
  ]
  /** @type {Awaited<ReturnType<typeof startEdge>>} */
  let edge
  before(async () => {
    edge = await startEdge(null, (request, response, count) => {
      const [stored, said] = cases[Number(request.url?.slice(1))]
      const conditional = request.headers['if-none-match'] ?? request.headers['if-modified-since']
      const validators = conditional === undefined ? stored : said
      response.writeHead(conditional === undefined ? 200 : 304, {
        'cache-control': 'no-cache', date: LAST, 'x-count': count, ...validators
      }).end(conditional === undefined ? `body ${count}` : '')
    }, { profile: 'rfc9111' })
  })
  after(() => edge.stop())
  for (const [index, [stored, said, is]] of cases.entries()) {
    test(`${is ? '' : 'not '}with ${JSON.stringify(said)} after ${JSON.stringify(stored)}`, async () => {
      await edge.get(`/${index}`)
      const { body, headers } = await edge.get(`/${index}`)
      assert.deepEqual([body, headers['x-count']], is ? ['body 1', '2'] : ['body 3', '3'])
      const asked = edge.arrived.filter(({ url }) => url === `/${index}`)[1].headers
      assert.deepEqual([asked['if-none-match'], asked['if-modified-since']], [stored.etag, stored['last-modified']])
    })
  }
})

test('rfc9111 stores a response with no-cache and revalidates it on each request', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('ETag', '"one"').setHeader('Cache-Control', 'no-cache, max-age=60')
    if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
    else response.end('body')
  }, { profile: 'rfc9111' })
  assert.equal((await edge.get('/')).cache, 'MISS')
  for (let count = 2; count <= 4; count++) {
    const answer = await edge.get('/')
    assert.deepEqual([answer.cache, answer.body], ['REVALIDATED', 'body'])
    assert.equal(edge.reached('/'), count)
  }
})
