import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** @import {Answer} from './edge-helper.js' */

/** Long enough for a second request to have arrived. */
const ALL_ASKED_MS = 2_000

/** @param {Answer} answer */
const statusOf = ({ headers }) => String(headers['cache-status'])

/** Replaces each ttl by its sign, as the clock goes on during a test. @param {Answer} answer */
const signed = (answer) => statusOf(answer).replaceAll(/ttl=(-?)\d+/g, 'ttl=$1N')

/** The lifetime is in the path: /60/name. @type {import('./edge-helper.js').Script} */
const living = (request, response, count) => {
  const [, lifetimeS, name] = String(request.url).split('/')
  const more = { updating: ', stale-while-revalidate=600', erring: ', stale-if-error=600' }[name] ?? ''
  const private_ = name === 'private' ? ', private' : ''
  response.setHeader('Cache-Control', `max-age=${lifetimeS}${more}${private_}`)
  if (name === 'varying') response.setHeader('Vary', 'Accept-Language')
  if (name === 'erring' && count > 1) response.statusCode = 503
  if (name === 'lost') response.statusCode = 404
  if (name === 'validated') response.setHeader('ETag', '"1"')
  if (name === 'validated' && request.headers['if-none-match'] === '"1"') response.statusCode = 304
  response.end(response.statusCode === 304 ? undefined : 'body')
}

/**
 * Each status of CF-Cache-Status, and its Cache-Status; the table in nginx/README.md shows the same rows.
 * @type {[what: string, cache: string, status: string, url: string, options?: {
 *   before?: Record<string, string>, headers?: Record<string, string>, method?: string, body?: string, waitMs?: number,
 *   first?: boolean
 * }][]}
 */
const ROWS = [
  ['a fresh response', 'HIT', 'hit;ttl=N', '/60/fresh'],
  ['a fresh response and a condition', 'HIT', 'hit;ttl=N', '/60/validated', { headers: { 'if-none-match': '"1"' } }],
  ['a fresh response and a range', 'HIT', 'hit;ttl=N', '/60/range', { headers: { range: 'bytes=0-1' } }],
  ['no response of the URL', 'MISS', 'fwd=uri-miss;fwd-status=200;ttl=N;stored', '/60/none', { first: true }],
  ['no response of the URL, for a HEAD', 'MISS', 'fwd=uri-miss;fwd-status=200', '/60/head', {
    first: true, method: 'HEAD'
  }],
  ['an error that the edge stores', 'MISS', 'fwd=uri-miss;fwd-status=404;ttl=N;stored', '/60/lost', { first: true }],
  ['another variant of the URL', 'MISS', 'fwd=vary-miss;fwd-status=200;ttl=N;stored', '/60/varying', {
    before: { 'accept-language': 'sl' }, headers: { 'accept-language': 'en' }
  }],
  ['a response that must not be stored', 'BYPASS', 'fwd=uri-miss;fwd-status=200;detail=must-not-store', '/60/private'],
  ['a stale response', 'EXPIRED', 'fwd=stale;fwd-status=200;ttl=N;stored', '/1/stale', { waitMs: 1_100 }],
  ['a fresh response that the request refuses', 'EXPIRED', 'fwd=request;fwd-status=200;ttl=N;stored', '/60/refused', {
    headers: { 'cache-control': 'no-cache' }
  }],
  ['a stale response that the origin confirms', 'REVALIDATED', 'fwd=stale;fwd-status=304;ttl=N;stored', '/1/validated', {
    waitMs: 1_100
  }],
  ['a fresh response that the origin confirms', 'REVALIDATED', 'fwd=request;fwd-status=304;ttl=N;stored', '/60/validated', {
    headers: { 'cache-control': 'no-cache' }
  }],
  ['a stale response in its stale-while-revalidate', 'UPDATING', 'hit;ttl=-N', '/1/updating', { waitMs: 2_100 }],
  ['a stale response that the request allows', 'STALE', 'hit;ttl=-N', '/1/allowed', {
    waitMs: 2_100, headers: { 'cache-control': 'max-stale=600' }
  }],
  ['a stale response in place of an error', 'STALE', 'fwd=stale;fwd-status=503;ttl=-N;detail=stale-if-error',
    '/1/erring', { waitMs: 2_100 }],
  ['an unsafe method', 'DYNAMIC', 'fwd=method;fwd-status=200', '/60/posted', { method: 'POST' }],
  ['a GET with a body', 'DYNAMIC', 'fwd=bypass;fwd-status=200;detail=request-body', '/60/get', { body: 'text' }]
]

for (const [what, cache, status, url, { before, headers, method, body, waitMs = 0, first = false } = {}] of ROWS) {
  test(`${what} is ${cache}, and stevec-edge;${status} in Cache-Status`, async (t) => {
    const edge = await startEdge(t, living, { profile: 'rfc9111' })
    if (!first) await edge.get(url, before)
    await passing(waitMs)
    const answer = await edge.get(url, { ...headers, ...body && { 'content-length': String(body.length) } }, method, body)
    assert.deepEqual([answer.cache, signed(answer)], [cache, `stevec-edge;${status}`])
  })
}

test('a request to the door that bypasses the cache is BYPASS, and fwd=bypass in Cache-Status', async (t) => {
  const configure = (/** @type {string} */ text) => text.replace('edge.handle()', 'edge.handle_bypassed()')
  const edge = await startEdge(t, living, { profile: 'rfc9111', configure })
  const answer = await edge.get('/60/fresh')
  assert.deepEqual([answer.cache, signed(answer)], ['BYPASS', 'stevec-edge;fwd=bypass;fwd-status=200'])
})

test('the ttl is what is left of the lifetime, on the fast path as well', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=100').setHeader('Age', '30').end('body')
  }, { profile: 'rfc9111' })
  await edge.get('/')
  for (let time = 0; time < 3; time++) {
    const ttlS = Number(/^stevec-edge;hit;ttl=(\d+)$/.exec(statusOf(await edge.get('/')))?.[1])
    assert.ok(ttlS > 20 && ttlS <= 70, String(ttlS))
  }
})

for (const [what, directive, status] of [
  ['a request that gets the response of another one is collapsed', 'max-age=60', 'ttl=N;collapsed'],
  ['a request that waited in vain for another one is not', 'private', 'fwd-status=200;collapsed=?0;detail=must-not-store']
]) {
  test(what, async (t) => {
    /** @type {(() => void)[]} */
    const held = []
    const edge = await startEdge(t, (_request, response, count) => {
      response.setHeader('Cache-Control', directive)
      if (count === 1) held.push(() => response.end('body')); else response.end('body')
    }, { profile: 'rfc9111' })
    const first = edge.get('/')
    await waitUntil(() => held.length === 1, WAIT_MAX_MS)
    const second = edge.get('/')
    await passing(ALL_ASKED_MS)
    held[0]()
    await first
    assert.equal(signed(await second), `stevec-edge;fwd=uri-miss;${status}`)
  })
}

test('the edge appends itself to what the caches of the origin sent, in one line', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Status', ['"Origin Cache"; fwd=stale', 'shield; hit; ttl=5'])
    response.setHeader('Cache-Control', 'max-age=60').end('body')
  }, { profile: 'rfc9111', cacheName: 'my "own" \\ edge' })
  const before = '"Origin Cache"; fwd=stale, shield; hit; ttl=5, "my \\"own\\" \\\\ edge"'
  const expected = [';fwd=uri-miss;fwd-status=200;ttl=N;stored', ...Array(3).fill(';hit;ttl=N')]
  for (const status of expected) {
    const answer = await edge.get('/')
    assert.equal(signed(answer), `${before.replace('ttl=5', 'ttl=N')}${status}`)
    assert.equal(answer.rawHeaders.filter((name) => name.toLowerCase() === 'cache-status').length, 1)
  }
  assert.equal(signed(await edge.get('/', {}, 'POST')), `${before.replace('ttl=5', 'ttl=N')};fwd=method;fwd-status=200`)
})

test('a response of the edge itself has no Cache-Status', async (t) => {
  const edge = await startEdge(t, living, { profile: 'rfc9111' })
  assert.equal((await edge.get('/60/none', { 'cache-control': 'only-if-cached' })).headers['cache-status'], undefined)
  await edge.closeOrigin()
  for (const method of ['GET', 'POST']) {
    const { status, headers } = await edge.get('/60/none', {}, method)
    assert.deepEqual([status, headers['cache-status']], [502, undefined])
  }
})

test('without a response of the origin, a stale one has no fwd-status', async (t) => {
  const edge = await startEdge(t, living, { profile: 'rfc9111' })
  await edge.get('/1/erring')
  await passing(2_100)
  await edge.closeOrigin()
  const answer = await edge.get('/1/erring')
  assert.deepEqual([answer.cache, signed(answer)], ['STALE', 'stevec-edge;fwd=stale;ttl=-N;detail=stale-if-error'])
})

test('after a purge of all variants the edge does not say which miss it is', async (t) => {
  const edge = await startEdge(t, living, { profile: 'rfc9111' })
  await edge.get('/60/varying')
  await edge.purge({ purge_everything: true })
  assert.equal(signed(await edge.get('/60/varying')), 'stevec-edge;fwd=miss;fwd-status=200;ttl=N;stored')
})

test('cloudflare adds no Cache-Status, and passes on that of the origin', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Status', 'shield; hit').setHeader('Cache-Control', 'max-age=60').end('body')
  })
  for (const cache of ['MISS', 'HIT', 'HIT']) {
    const answer = await edge.get('/')
    assert.deepEqual([answer.cache, statusOf(answer)], [cache, 'shield; hit'])
  }
})

test('a name that no structured field can hold is refused', async (t) => {
  await assert.rejects(startEdge(t, living, { cacheName: 'edge\r\nX: 1' }), /printable ASCII/)
})
