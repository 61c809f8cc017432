import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpDate, startEdge } from './edge-helper.js'

/** @type {import('./edge-helper.js').Script} */
const script = (request, response) => {
  response.setHeader('Cache-Control', 'max-age=60')
    .setHeader('Vary', request.url === '/encoding' ? 'Accept-Encoding' : 'Accept-Language, X-Two')
  response.end(`${request.headers['accept-language']} ${request.headers['accept-encoding']}`)
}

test('rfc9111 stores one response for each combination of the headers that Vary names', async (t) => {
  const edge = await startEdge(t, script, { profile: 'rfc9111' })
  assert.equal((await edge.get('/', { 'accept-language': 'sl' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'en' })).cache, 'MISS')
  assert.equal((await edge.get('/')).cache, 'MISS')
  for (const [headers, body] of /** @type {[Record<string, string>, string][]} */ ([
    [{ 'accept-language': 'sl' }, 'sl undefined'],
    [{ 'accept-language': 'en' }, 'en undefined'],
    [{}, 'undefined undefined'],
    [{ 'accept-language': ' sl ', 'x-other': '1' }, 'sl undefined']
  ])) {
    const answer = await edge.get('/', headers)
    assert.deepEqual([answer.cache, answer.body], ['HIT', body])
  }
  assert.equal((await edge.get('/', { 'accept-language': 'sl', 'x-two': '1' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'sl, en' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'sl,en' })).cache, 'HIT')
})

test('several lines of Accept-Encoding select as one does, also on the fast path', async (t) => {
  const edge = await startEdge(t, script, { profile: 'cloudflare' })
  const asked = async (/** @type {string[]} */ ...values) => {
    const lines = ['GET /encoding HTTP/1.1', `Host: ${edge.host}`, 'Connection: close',
      ...values.map((value) => `Accept-Encoding: ${value}`)]
    return (await edge.raw(`${lines.join('\r\n')}\r\n\r\n`)).split('\r\n\r\n')[1]
  }
  for (const values of [[], ['gzip'], ['br, gzip']]) await asked(...values)
  const [none, gzip, both] = [await asked(), await asked('gzip'), await asked('br, gzip')]
  assert.equal(new Set([none, gzip, both]).size, 3)
  assert.deepEqual([await asked('', 'gzip'), await asked('gzip', 'br'), await asked('', '')], [gzip, both, none])
  assert.equal(edge.reached('/encoding'), 3)
})

test('a header that is absent and an empty one are two variants', async (t) => {
  const edge = await startEdge(t, (request, response) => response.setHeader('Cache-Control', 'max-age=60')
    .setHeader('Vary', 'X-Two')
    .end(typeof request.headers['x-two']), { profile: 'rfc9111' })
  for (const cache of ['MISS', 'HIT']) {
    assert.deepEqual(
      await Promise.all([undefined, { 'x-two': '' }].map(async (headers) => {
        const answer = await edge.get('/', headers)
        return [answer.cache, answer.body]
      })),
      [[cache, 'undefined'], [cache, 'string']]
    )
  }
})

test('of several stored responses that a request selects, the one with the latest Date is sent', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    const isNew = request.headers['x-a'] === '2'
    response.writeHead(200, {
      'cache-control': 'max-age=600', vary: isNew ? 'x-b' : 'x-a', date: httpDate(isNew ? 0 : -100)
    }).end(`${request.headers['x-a']} ${request.headers['x-b']}`)
  }, { profile: 'rfc9111' })
  await edge.get('/', { 'x-a': '1', 'x-b': '1' })
  await edge.get('/', { 'x-a': '2', 'x-b': '1' })
  // The order of the selections is now that of this response.
  await edge.get('/', { 'x-a': '3', 'x-b': '2' })
  const { cache, body } = await edge.get('/', { 'x-a': '1', 'x-b': '1' })
  assert.deepEqual([cache, body], ['HIT', '2 1'])
})

for (const before of ['', 'x-a']) {
  test(`a 304 with another Vary than ${before || 'none'} removes the stored response`, async (t) => {
    const edge = await startEdge(t, (request, response, count) => {
      const unchanged = request.headers['if-none-match'] !== undefined
      response.writeHead(unchanged ? 304 : 200, {
        'cache-control': 'max-age=60', etag: '"1"', ...(count === 1 && !before ? {} : { vary: count === 1 ? before : 'x-b' })
      }).end(unchanged ? '' : `${request.headers['x-b']}`)
    }, { profile: 'rfc9111' })
    await edge.get('/', { 'x-b': '1' })
    const validated = await edge.get('/', { 'x-b': '1', 'cache-control': 'no-cache' })
    assert.deepEqual([validated.cache, validated.body], ['REVALIDATED', '1'])
    const other = await edge.get('/', { 'x-b': '2' })
    assert.deepEqual([other.cache, other.body], ['MISS', '2'])
  })
}

test('a purge of a URL removes all its variants', async (t) => {
  const edge = await startEdge(t, script, { profile: 'rfc9111' })
  for (const language of ['sl', 'en']) await edge.get('/', { 'accept-language': language })
  await edge.purge({ files: [`http://${edge.host}/`] })
  for (const language of ['sl', 'en']) {
    assert.equal((await edge.get('/', { 'accept-language': language })).cache, 'MISS')
  }
})

test('cloudflare ignores Vary except for Accept-Encoding', async (t) => {
  const edge = await startEdge(t, script)
  assert.equal((await edge.get('/', { 'accept-language': 'sl' })).cache, 'MISS')
  assert.deepEqual((await edge.get('/', { 'accept-language': 'en' })).body, 'sl identity')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'gzip, br' })).cache, 'MISS')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'br;q=1.0, gzip;q=0.8, *;q=0.1' })).cache, 'HIT')
  assert.equal((await edge.get('/encoding')).cache, 'MISS')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'gzip;q=0' })).cache, 'HIT')
})
