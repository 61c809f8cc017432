import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(100)
const ZSTD = ['/usr/bin/zstd', '/usr/local/bin/zstd'].find(existsSync)
const OPTIONS = { compression: true, profile: /** @type {const} */ ('rfc9111') }

/** @typedef {import('./edge-helper.js').Answer} Answer */

/**
 * @param {Record<string, string | string[]>} [headers]
 * @param {string | Buffer} [body]
 * @returns {import('./edge-helper.js').Script}
 */
const sending = (headers = {}, body = TEXT) => (_request, response) => {
  const all = { 'Cache-Control': 'max-age=600', 'Content-Type': 'text/html; charset=utf-8', ETag: '"one"', ...headers }
  response.writeHead(200, { ...all, 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** @param {Answer} answer */
function decoded ({ headers, body }) {
  const bytes = Buffer.from(body, 'latin1')
  const coding = headers['content-encoding']
  if (coding === 'br') return brotliDecompressSync(bytes).toString()
  if (coding === 'gzip') return gunzipSync(bytes).toString()
  if (coding === 'zstd') return ZSTD ? execFileSync(ZSTD, ['-dcq'], { input: bytes }).toString() : TEXT
  assert.equal(coding, undefined)
  return bytes.toString()
}

/**
 * An Accept-Encoding, and the coding of the response.
 * @type {[accept: string | undefined, coding: string | undefined][]}
 */
const CHOICES = [
  [undefined, undefined], ['', undefined], ['identity', undefined], ['gzip', 'gzip'], ['x-gzip', 'gzip'], ['br', 'br'],
  ['ZSTD', 'zstd'], ['gzip, deflate, br, zstd', 'br'], ['gzip, zstd', 'zstd'], ['gzip;q=1, br;q=0.5', 'gzip'],
  ['gzip;q=0, br;q=0.000', undefined], ['*', 'br'], ['*;q=0', undefined], ['br;q=0, *', 'zstd'], ['gzip;q=0.2, *;q=0.1', 'gzip'],
  ['identity;q=0, gzip;q=0.1', 'gzip'], ['identity, gzip;q=0.5', undefined], ['gzip;q=2', undefined], ['gzip;q=x', undefined],
  ['gzip ; q=0.7', 'gzip'], ['deflate, compress', undefined], ['gzipped, xbr', undefined], [',,;,gzip', 'gzip'],
  [`gzip${', a'.repeat(2_000)}`, undefined], ['dcb, dcz', undefined]
]

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  test(`in the profile ${profile}, one stored response serves each coding that a client may prefer`, async (t) => {
    const edge = await startEdge(t, sending(), { ...OPTIONS, profile })
    const first = await edge.get('/a', { 'accept-encoding': 'gzip' })
    assert.deepEqual([first.cache, first.body, first.headers.etag], ['MISS', TEXT, '"one"'])
    assert.match(String(first.headers.vary), /Accept-Encoding/)
    for (const round of [1, 2]) {
      for (const [accept, coding] of CHOICES) {
        const answer = await edge.get('/a', accept === undefined ? {} : { 'accept-encoding': accept })
        const note = `${accept?.slice(0, 40)}, round ${round}`
        assert.equal(answer.cache, 'HIT', note)
        assert.equal(answer.headers['content-encoding'], coding, note)
        assert.equal(answer.headers.vary, 'Accept-Encoding', note)
        assert.equal(answer.headers.etag, coding ? 'W/"one"' : '"one"', note)
        assert.equal(Number(answer.headers['content-length']), answer.body.length, note)
        assert.equal(decoded(answer), TEXT, note)
      }
    }
    assert.equal(edge.reached('/a'), 1)
    assert.doesNotMatch(edge.errors(), /\[error\]/)
  })
}

/** @type {[what: string, headers: Record<string, string>, body: string | Buffer][]} */
const UNTOUCHED = [
  ['a picture', { 'Content-Type': 'image/png' }, TEXT],
  ['a response without a type', { 'Content-Type': '' }, TEXT],
  ['a stream of events', { 'Content-Type': 'text/event-stream' }, TEXT],
  ['a body of a few bytes', {}, 'a'.repeat(99)],
  ['a body that compression does not make smaller', {}, gzipSync(TEXT)],
  ['a response with no-transform', { 'Cache-Control': 'max-age=600, No-Transform' }, TEXT],
  ['a response with a digest', { 'Repr-Digest': 'sha-256=:AAAA:' }, TEXT],
  ['a response that the origin encoded', { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }, gzipSync(TEXT)],
  ['a large body', {}, 'a'.repeat(512 * 1024 + 1)]
]

for (const [what, headers, body] of UNTOUCHED) {
  test(`${what} is passed on as it is`, async (t) => {
    const edge = await startEdge(t, sending(headers, body), OPTIONS)
    for (const cache of ['MISS', 'HIT']) {
      const answer = await edge.get('/a', { 'accept-encoding': 'br, gzip' })
      assert.equal(answer.cache, cache)
      assert.equal(answer.headers['content-encoding'], headers['Content-Encoding'])
      assert.equal(answer.headers.etag, '"one"')
      assert.equal(answer.body, Buffer.from(body).toString('latin1'))
    }
  })
}

for (const type of ['application/json', 'image/svg+xml', 'text/css', 'APPLICATION/LD+JSON;a=b', 'application/wasm']) {
  test(`a body of the type ${type} is compressed`, async (t) => {
    const edge = await startEdge(t, sending({ 'Content-Type': type }), OPTIONS)
    await edge.get('/a')
    assert.equal((await edge.get('/a', { 'accept-encoding': 'gzip' })).headers['content-encoding'], 'gzip')
  })
}

test('a body that is on the disk only is compressed, too', async (t) => {
  const large = TEXT.repeat(40)
  const edge = await startEdge(t, sending({}, large), OPTIONS)
  await edge.get('/a')
  for (const coding of ['br', 'gzip', 'zstd']) {
    const answer = await edge.get('/a', { 'accept-encoding': coding })
    assert.equal(answer.headers['content-encoding'], coding)
    if (coding !== 'zstd' || ZSTD) assert.equal(decoded(answer), large)
  }
})

test('without the option nothing is compressed, and no Vary is added', async (t) => {
  const edge = await startEdge(t, sending(), { profile: 'rfc9111' })
  for (let count = 0; count < 2; count++) {
    const { headers } = await edge.get('/a', { 'accept-encoding': 'br' })
    assert.deepEqual([headers['content-encoding'], headers.vary, headers.etag], [undefined, undefined, '"one"'])
  }
})

test('a HEAD has the headers of the GET', async (t) => {
  const edge = await startEdge(t, sending({ 'Accept-Ranges': 'bytes' }), OPTIONS)
  await edge.get('/a')
  for (const accept of ['gzip', 'br', 'identity']) {
    const get = await edge.get('/a', { 'accept-encoding': accept })
    const head = await edge.get('/a', { 'accept-encoding': accept }, 'HEAD')
    for (const name of ['content-length', 'content-encoding', 'etag', 'vary', 'accept-ranges']) {
      assert.equal(head.headers[name], get.headers[name], `${name} for ${accept}`)
    }
    assert.equal(head.headers['accept-ranges'], accept === 'identity' ? 'bytes' : undefined)
  }
})

test('the entity tag of each coding gets a 304 with the tag of the coding that the client would get', async (t) => {
  const edge = await startEdge(t, sending({ Vary: 'Cookie' }), OPTIONS)
  await edge.get('/a')
  for (const tag of ['"one"', 'W/"one"', '"x", W/"one"']) {
    for (const [accept, etag] of [['br', 'W/"one"'], ['identity', '"one"']]) {
      const { status, headers, body } = await edge.get('/a', { 'if-none-match': tag, 'accept-encoding': accept })
      assert.deepEqual([status, headers.etag, body], [304, etag, ''])
      assert.deepEqual([headers.vary, headers['content-encoding']], ['Cookie, Accept-Encoding', undefined])
    }
  }
  const other = await edge.get('/a', { 'if-none-match': '"other"', 'accept-encoding': 'br' })
  assert.deepEqual([other.status, other.headers['content-encoding']], [200, 'br'])
})

test('a range is one of the stored bytes, and no weak tag or date gets one', async (t) => {
  const modified = new Date(Date.now() - 100_000_000).toUTCString()
  const edge = await startEdge(t, sending({ 'Last-Modified': modified }), OPTIONS)
  await edge.get('/a')
  /** @type {[condition: string | undefined, status: number][]} */
  const cases = [[undefined, 206], ['"one"', 206], ['W/"one"', 200], [modified, 200], ['"two"', 200]]
  for (const [condition, status] of cases) {
    const answer = await edge.get('/a', {
      range: 'bytes=4-8', 'accept-encoding': 'gzip', ...condition !== undefined && { 'if-range': condition }
    })
    assert.equal(answer.status, status, condition)
    assert.deepEqual([answer.headers.etag, answer.headers['content-encoding']], ['"one"', undefined])
    assert.equal(answer.body, status === 206 ? 'quick' : TEXT)
  }
})

test('a compressed body goes with its response: after a purge, a new response and a 304', async (t) => {
  let version = 1
  const edge = await startEdge(t, (request, response, count) => {
    if (request.headers['if-none-match'] === `"${version}"`) {
      return response.writeHead(304, { 'Cache-Control': 'max-age=600', 'X-Count': count, ETag: `"${version}"` }).end()
    }
    sending({ ETag: `"${version}"`, 'X-Count': String(count) }, `${version} ${TEXT}`)(request, response, count)
  }, OPTIONS)
  /** @param {Record<string, string>} [headers] */
  const get = (headers = {}) => edge.get('/a', { 'accept-encoding': 'br', ...headers })
  await get()
  assert.equal(decoded(await get()), `1 ${TEXT}`)
  version = 2
  await edge.purge({ files: [`http://${edge.host}/a`] })
  await get()
  const second = await get()
  assert.deepEqual([decoded(second), second.headers.etag], [`2 ${TEXT}`, 'W/"2"'])
  const confirmed = await get({ 'cache-control': 'no-cache' })
  assert.equal(confirmed.cache, 'REVALIDATED')
  const third = await get()
  assert.deepEqual([decoded(third), third.headers['x-count'], third.headers.vary], [`2 ${TEXT}`, '3', 'Accept-Encoding'])
  version = 3
  await get({ 'cache-control': 'no-cache' })
  const fourth = await get()
  assert.deepEqual([decoded(fourth), fourth.headers.etag], [`3 ${TEXT}`, 'W/"3"'])
  await edge.restart()
  const restarted = await get()
  assert.deepEqual([restarted.cache, decoded(restarted), restarted.headers.etag], ['HIT', `3 ${TEXT}`, 'W/"3"'])
})

test('without the library of a coding, a client gets another coding', async (t) => {
  const edge = await startEdge(t, sending(), {
    ...OPTIONS, edits: [['codecs.lua', 'load("libbrotlienc.so.1")', 'load("libno-such-brotli.so.1")']]
  })
  await edge.get('/a')
  assert.equal((await edge.get('/a', { 'accept-encoding': 'br, gzip' })).headers['content-encoding'], 'gzip')
  assert.equal((await edge.get('/a', { 'accept-encoding': 'br' })).headers['content-encoding'], undefined)
})

for (const [what, stored, confirmed, headers] of /** @type {[string, object, object, Record<string, string>][]} */ ([
  ['for a client that forbids storing', {}, {}, { 'cache-control': 'no-store' }],
  ['that makes the response private', {}, { 'cache-control': 'private' }, {}],
  ['with another Vary', {}, { vary: 'X-Other' }, {}]
])) {
  test(`a 304 ${what} is not stored, and answers a client that accepts a coding`, async (t) => {
    const edge = await startEdge(t, (request, response) => {
      const head = { 'cache-control': 'max-age=0', 'content-type': 'text/plain', etag: '"one"', ...stored }
      if (request.headers['if-none-match']) return response.writeHead(304, { ...head, ...confirmed }).end()
      response.writeHead(200, head).end(TEXT)
    }, OPTIONS)
    await edge.get('/a')
    const answer = await edge.get('/a', { 'accept-encoding': 'gzip', ...headers })
    assert.deepEqual([answer.status, decoded(answer)], [200, TEXT])
    assert.doesNotMatch(edge.errors(), /\[error\]/)
  })
}

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  test(`in the profile ${profile}, a 304 that repeats Vary confirms the response`, async (t) => {
    const edge = await startEdge(t, (request, response) => {
      const head = { 'cache-control': 'max-age=1', 'content-type': 'text/plain', etag: '"one"', vary: 'Cookie' }
      if (request.headers['if-none-match']) return response.writeHead(304, { ...head, 'cache-control': 'max-age=600' }).end()
      response.writeHead(200, head).end(TEXT)
    }, { ...OPTIONS, profile })
    await edge.get('/a')
    assert.ok(await waitUntil(async () => (await edge.get('/a')).cache === 'REVALIDATED', WAIT_MAX_MS))
    const answer = await edge.get('/a', { 'accept-encoding': 'gzip' })
    assert.deepEqual([answer.cache, answer.headers['content-encoding'], decoded(answer)], ['HIT', 'gzip', TEXT])
  })
}
