import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** Long enough for a second request to have arrived. */
const ALL_ASKED_MS = 2_000

/** @param {string | string[]} header @returns {import('./edge-helper.js').Script} */
const saying = (header) => (request, response) => {
  response.setHeader('Cache-Control', 'max-age=600').setHeader('No-Vary-Search', header).end(String(request.url))
}

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/** @param {Edge} edge @param {string} url */
const bodyOf = async (edge, url) => {
  const { cache, body } = await edge.get(url)
  assert.equal(body === url || cache === 'HIT', true)
  return body
}

/** A header, the URL of the first request, URLs that get its response, and URLs that do not. */
/** @type {[header: string | string[], first: string, same: string[], others: string[]][]} */
const CASES = [
  ['params', '/p?a=1', ['/p', '/p?', '/p?b=2&c', '/p?a=1'], ['/q', '/p/']],
  ['params=("utm" "a b")', '/p?utm=1&x=1', ['/p?x=1', '/p?x=1&utm=2', '/p?u%74m&x=1', '/p?a+b=1&x=1', '/p?a%20b&x=1'], [
    '/p', '/p?x=2', '/p?utmx=1&x=1', '/p?UTM=1&x=1', '/p?x=1&x=1'
  ]],
  ['params, except=("id")', '/p?id=1&x=1', ['/p?id=1', '/p?y=2&id=1'], ['/p?id=2', '/p?ID=1']],
  ['key-order', '/p?b=1&a=1', ['/p?a=1&b=1'], ['/p?a=1', '/p?a=1&b=2', '/p?a=1&b=1&c']],
  ['key-order', '/p?b=1&a=1&b=2', ['/p?b=1&b=2&a=1'], ['/p?b=2&b=1&a=1']],
  [['key-order', 'params=("utm")'], '/p?b=1&a=1&utm=1', ['/p?a=1&b=1', '/p?utm=3&a=1&b=1'], ['/p?a=1']],
  ...[
    'params=?0', 'key-order=?0', 'except=("a")', 'params=("a"), except=("b")', 'params, except', 'params=1', 'params="a"',
    'params=(a)', 'params=("a"', 'key-order=1', 'params, unknown', 'PARAMS', '', 'params;', `params=("${'a'.repeat(5_000)}")`
  ].map((header) => /** @type {[string, string, string[], string[]]} */ ([header, '/p?a=1', [], ['/p', '/p?a=2']]))
]

for (const [header, first, same, others] of CASES) {
  const name = [header].flat().join(', ').slice(0, 40)
  test(`after ${first} with "${name}", ${same.length} other URLs get its response and ${others.length} do not`, async (t) => {
    const edge = await startEdge(t, saying(header), { profile: 'rfc9111' })
    await edge.get(first)
    for (const url of same) assert.equal(await bodyOf(edge, url), first, url)
    for (const url of others) assert.equal(await bodyOf(edge, url), url, url)
  })
}

test('a purge of any of the equal URLs removes their response, by URL and by an unsafe request', async (t) => {
  const edge = await startEdge(t, saying('params=("utm")'), { profile: 'rfc9111' })
  for (const [stored, purged] of [['/p?utm=1', '/p'], ['/p', '/p?utm=1'], ['/p?utm=1&x', '/p?x&utm=2']]) {
    for (const purge of [
      () => edge.purge({ files: [`http://${edge.host}${purged}`] }),
      () => edge.get(purged, {}, 'POST')
    ]) {
      await edge.get(stored)
      assert.equal((await edge.get(purged)).cache, 'HIT', purged)
      await purge()
      assert.equal((await edge.get(purged)).cache, 'MISS', purged)
      await purge()
      assert.equal((await edge.get(stored)).cache, 'MISS', stored)
    }
  }
})

test('a response that was requested before an equal URL was purged is not stored', async (t) => {
  for (const known of [false, true]) {
    /** @type {(() => void)[]} */
    const held = []
    const edge = await startEdge(t, (request, response, count) => {
      const answer = () => saying('params')(request, response, count)
      if (request.url === '/p?held') held.push(answer); else answer()
    }, { profile: 'rfc9111' })
    if (known) {
      await edge.get('/p')
      await edge.purge({ purge_everything: true })
    }
    const first = edge.get('/p?held')
    await waitUntil(() => held.length === 1, WAIT_MAX_MS)
    await edge.purge({ files: [`http://${edge.host}/p?other`] })
    held[0]()
    await first
    assert.equal((await edge.get('/p?next')).cache, 'MISS')
  }
})

test('when a response has the header no more, its path has one response for each query again', async (t) => {
  let header = 'params'
  const edge = await startEdge(t, (request, response, count) => saying(header)(request, response, count), {
    profile: 'rfc9111'
  })
  assert.equal(await bodyOf(edge, '/p?a'), '/p?a')
  assert.equal(await bodyOf(edge, '/p?b'), '/p?a')
  header = ''
  await edge.purge({ files: [`http://${edge.host}/p`] })
  for (const url of ['/p?a', '/p', '/p?b', '/p?a', '/p', '/p?b']) assert.equal(await bodyOf(edge, url), url)
})

test('a 304 that takes the header back removes the response', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=600').setHeader('ETag', '"1"')
    response.setHeader('No-Vary-Search', request.headers['if-none-match'] ? 'key-order' : 'params')
    response.statusCode = request.headers['if-none-match'] ? 304 : 200
    response.end(response.statusCode === 200 ? `${request.url} ${count}` : undefined)
  }, { profile: 'rfc9111' })
  await edge.get('/p?a')
  assert.equal((await edge.get('/p?a', { 'cache-control': 'no-cache' })).cache, 'REVALIDATED')
  assert.equal((await edge.get('/p')).body, '/p 1')
})

test('a request that waits for the fetch of an equal URL gets its response only if that still has the header', async (t) => {
  for (const [header, body] of [['params', '/p?first'], ['key-order', '/p?second']]) {
    /** @type {(() => void)[]} */
    const held = []
    const large = 'x'.repeat(200_000)
    const edge = await startEdge(t, (request, response) => {
      const first = request.url === '/p?first'
      response.setHeader('Cache-Control', 'max-age=600').setHeader('No-Vary-Search', request.url === '/p' ? 'params' : header)
      const text = `${request.url} ${large}`
      response.setHeader('Content-Length', text.length).write(text.slice(0, 150_000))
      const end = () => response.end(text.slice(150_000))
      if (first) held.push(end); else end()
    }, { profile: 'rfc9111' })
    await edge.get('/p')
    await edge.purge({ purge_everything: true })
    const first = edge.get('/p?first')
    await waitUntil(() => held.length === 1, WAIT_MAX_MS)
    const second = edge.get('/p?second')
    await passing(ALL_ASKED_MS)
    held[0]()
    assert.equal((await first).body.split(' ')[0], '/p?first')
    assert.equal((await second).body.split(' ')[0], body)
  }
})

test('variants, keyed headers and hosts stay apart', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Vary', 'Accept-Language')
    saying('params')(request, response, count)
  }, { profile: 'rfc9111' })
  await edge.get('/p?a')
  assert.equal((await edge.get('/p?b', { 'accept-language': 'sl' })).body, '/p?b')
  assert.equal((await edge.get('/p?c', { 'x-forwarded-host': 'evil' })).body, '/p?c')
  assert.equal((await edge.get('/p?d', { host: 'other.example' })).body, '/p?d')
  assert.equal((await edge.get('/p?e')).body, '/p?a')
})

test('queries of thousands of parameters and broken escapes are answered, each with its own response', async (t) => {
  const edge = await startEdge(t, saying('key-order, params=("utm")'), { profile: 'rfc9111' })
  await edge.get('/p')
  const many = Array.from({ length: 1_500 }, (_, index) => `${index % 7}`).join('&')
  for (const url of [`/p?${many}`, `/p?utm&${many}`, '/p?%', '/p?%zz&utm', '/p?=&==', '/p?&&&x', '/p?%00=1', '/p??utm']) {
    for (let time = 0; time < 2; time++) assert.equal((await edge.get(url)).body, url)
  }
  assert.doesNotMatch(edge.errors(), /\[error\]|\[alert\]/)
})

test('cloudflare ignores the header', async (t) => {
  const edge = await startEdge(t, saying('params'))
  await edge.get('/p?a')
  assert.equal((await edge.get('/p?b')).body, '/p?b')
})

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  test(`an assumed header counts for responses without one: ${profile}`, async (t) => {
    const edge = await startEdge(t, (request, response) => {
      response.setHeader('Cache-Control', 'max-age=600')
      if (String(request.url).startsWith('/own')) response.setHeader('No-Vary-Search', 'key-order=?0')
      response.end(String(request.url))
    }, { profile, assumedNoVarySearch: 'key-order, params=("utm" "gclid")' })
    assert.equal(await bodyOf(edge, '/p?b&a&utm=1'), '/p?b&a&utm=1')
    for (const url of ['/p?a&b', '/p?gclid=2&b&a']) assert.equal(await bodyOf(edge, url), '/p?b&a&utm=1')
    assert.equal(await bodyOf(edge, '/p?b'), '/p?b')
    await edge.purge({ files: [`http://${edge.host}/p?utm=3&b&a`] })
    assert.equal(await bodyOf(edge, '/p?a&b'), '/p?a&b')
    if (profile === 'cloudflare') return
    for (const url of ['/own?utm=1', '/own', '/own?utm=2', '/own?utm=1']) assert.equal(await bodyOf(edge, url), url)
    assert.equal((await edge.get('/own?utm=2')).cache, 'HIT')
  })
}

test('an assumed header without effect is refused', async (t) => {
  for (const assumedNoVarySearch of ['params=utm', 'unknown', 'params\n']) {
    await assert.rejects(startEdge(t, saying('params'), { assumedNoVarySearch }), /No-Vary-Search/)
  }
})
