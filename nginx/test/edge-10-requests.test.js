import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passing, startEdge } from './edge-helper.js'

/** @type {import('./edge-helper.js').Script} */
const plain = (_request, response, count) => { response.setHeader('Cache-Control', 'max-age=60').end(`body ${count}`) }

test('rfc9111 obeys the cache directives of a request, cloudflare ignores them', async (t) => {
  for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
    const edge = await startEdge(t, plain, { profile })
    await edge.get('/')
    await passing(1_050)
    for (const [directive, cache] of [
      ['no-cache', 'EXPIRED'],
      ['max-age=0', 'EXPIRED'],
      ['max-age=30', 'HIT'],
      ['min-fresh=90', 'EXPIRED'],
      ['min-fresh=10', 'HIT'],
      ['no-store', 'HIT']
    ]) {
      assert.equal(
        (await edge.get('/', { 'cache-control': directive })).cache,
        profile === 'rfc9111' ? cache : 'HIT',
        directive
      )
      if (cache === 'EXPIRED') await passing(1_050)
    }
    assert.equal((await edge.get('/', { pragma: 'no-cache' })).cache, profile === 'rfc9111' ? 'EXPIRED' : 'HIT')
    assert.equal(
      (await edge.get('/other', { 'cache-control': 'only-if-cached' })).status,
      profile === 'rfc9111' ? 504 : 200
    )
    await edge.get('/unstored', { 'cache-control': 'no-store' })
    assert.equal((await edge.get('/unstored')).cache, profile === 'rfc9111' ? 'MISS' : 'HIT')
  }
})

test('max-stale allows a stale response, unless the origin forbids it', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response
      .setHeader('Cache-Control', request.url === '/forbidden' ? 'max-age=1, must-revalidate' : 'max-age=1')
      .end('body'),
    { profile: 'rfc9111' }
  )
  for (const url of ['/allowed', '/forbidden']) await edge.get(url)
  await passing(1_050)
  assert.equal((await edge.get('/allowed', { 'cache-control': 'max-stale=60' })).cache, 'STALE')
  assert.equal((await edge.get('/allowed', { 'cache-control': 'max-stale' })).cache, 'STALE')
  assert.equal((await edge.get('/forbidden', { 'cache-control': 'max-stale=60' })).cache, 'EXPIRED')
  assert.equal((await edge.get('/allowed', { 'cache-control': 'max-stale=0' })).cache, 'EXPIRED')
})

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  test(`an unsafe method ${profile === 'rfc9111' ? 'invalidates a' : 'keeps a'} stored page: ${profile}`, async (t) => {
    const edge = await startEdge(t, (request, response, count) => {
      if (request.method === 'GET') return plain(request, response, count)
      request.resume()
      const status = Number(new URL(String(request.url), 'http://origin').searchParams.get('status') ?? 200)
      response.writeHead(status, {
        location: `http://${request.headers.host}/location`,
        'content-location': '/content-location'
      }).end()
    }, { profile })
    const urls = ['/target', '/location', '/content-location', '/bystander']
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'MERGE']) {
      for (const url of urls) await edge.get(url)
      assert.equal((await edge.get('/target', {}, method)).cache, 'DYNAMIC')
      const expected = profile === 'rfc9111' ? ['MISS', 'MISS', 'MISS', 'HIT'] : ['HIT', 'HIT', 'HIT', 'HIT']
      assert.deepEqual(await Promise.all(urls.map(async (url) => (await edge.get(url)).cache)), expected, method)
    }
    await edge.get('/target?status=500')
    await edge.get('/target?status=500', {}, 'POST')
    assert.equal((await edge.get('/target?status=500')).cache, 'HIT')
    await edge.get('/target', {}, 'OPTIONS')
    assert.equal((await edge.get('/target')).cache, 'HIT')
  })
}

for (const host of ['127.0.0.1', '10.0.0.5', 'app1', 'app1:8080', '[::1]', '[::1]:8080', 'example.org', '[fe80::12]']) {
  test(`the edge serves and caches requests with Host: ${host}`, async (t) => {
    const edge = await startEdge(t, (_request, response) => {
      response.writeHead(200, { 'cache-control': 'max-age=60' }).end('page')
    })
    assert.deepEqual(await Promise.all([1, 2].map(async () => (await edge.get('/', { host })).status)), [200, 200])
    assert.equal((await edge.get('/', { host })).cache, 'HIT')
  })
}

test('an unsafe method invalidates a Location of another scheme only behind a proxy that speaks it', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    if (request.method === 'GET') return plain(request, response, count)
    const location = `https://${request.headers.host}/location`
    response.writeHead(201, { location, 'content-location': location }).end()
  }, { profile: 'rfc9111' })
  await edge.get('/location')
  await edge.get('/target', {}, 'POST')
  assert.equal((await edge.get('/location')).cache, 'HIT')
  await edge.get('/target', { 'x-forwarded-proto': 'https' }, 'POST')
  assert.equal((await edge.get('/location')).cache, 'MISS')
})

test('only a response that is no error invalidates', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    if (request.method === 'GET') return plain(request, response, count)
    response.writeHead(Number(new URL(String(request.url), 'http://origin').searchParams.get('status'))).end()
  }, { profile: 'rfc9111' })
  for (const [status, cache] of /** @type {[number, string][]} */ ([
    [200, 'MISS'], [204, 'MISS'], [299, 'MISS'], [303, 'MISS'], [399, 'MISS'], [400, 'HIT'], [412, 'HIT'], [503, 'HIT']
  ])) {
    const url = `/?status=${status}`
    await edge.get(url)
    assert.equal((await edge.get(url, {}, 'POST')).status, status)
    assert.equal((await edge.get(url)).cache, cache, url)
  }
})

test('an unsafe method does not invalidate a Location on another host', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    if (request.method === 'GET') return plain(request, response, count)
    response.writeHead(200, {
      location: 'http://other.example/location',
      'content-location': '//other.example/location'
    }).end()
  }, { profile: 'rfc9111' })
  await edge.get('/location', { host: 'other.example' })
  await edge.get('/location')
  await edge.get('/target', {}, 'POST')
  assert.equal((await edge.get('/location', { host: 'other.example' })).cache, 'HIT')
  assert.equal((await edge.get('/location')).cache, 'HIT')
})
