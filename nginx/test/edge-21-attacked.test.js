import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** As many bodies of this size as a worker keeps of parsed entries; PARSED_BYTES_MAX of lua/store.lua is 2 MiB. */
const BODY_BYTES = 50_000
const PARSED_MAX = Math.ceil(2 * 2 ** 20 / BODY_BYTES)
const AT_ONCE = 20

test('a large body of unknown length that arrives all at once gets no wrong Content-Length', async (t) => {
  const body = Buffer.alloc(600_000, 'abcdefghij')
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
    if (request.url === '/warm') return response.end(body)
    // Stops the worker while the whole body arrives, as if it were busy.
    const [worker] = edge.workers()
    process.kill(worker, 'SIGSTOP')
    response.write(body)
    response.end()
    setTimeout(() => process.kill(worker, 'SIGCONT'), 300)
  }, { workers: 1 })
  for (let number = 0; number < 6; number++) {
    await edge.get('/warm')
    const { body: received, headers } = await edge.get(`/${number}`)
    assert.equal(received.length, body.length)
    if (headers['content-length']) assert.equal(Number(headers['content-length']), body.length)
  }
})

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  test(`headers of a revalidation with Authorization do not reach other clients: ${profile}`, async (t) => {
    const edge = await startEdge(t, ({ headers }, response) => {
      response.setHeader('Cache-Control', 'max-age=2').setHeader('ETag', '"1"')
      if (headers.authorization) response.setHeader('Named', 'alice').setHeader('Set-Cookie', 'sid=alice')
      if (headers['if-none-match']) return response.writeHead(304).end()
      response.setHeader('Content-Length', 4).end('body')
    }, { profile })
    const asAlice = { authorization: 'Basic YTpi' }
    const tries = /** @type {[string, Record<string, string>, string][]} */ ([
      ['/get', {}, 'GET'],
      ['/directive', { 'cache-control': 'no-cache' }, 'GET'],
      ['/unstored', { 'cache-control': 'no-store' }, 'GET'],
      ['/head', { 'cache-control': 'no-cache' }, 'HEAD']
    ])
    for (const [url] of tries) if (url !== '/head') await edge.get(url)
    await passing(2_100)
    await edge.get('/head')
    for (const [url, said, method] of tries) {
      await edge.get(url, { ...asAlice, ...said }, method)
      const { headers } = await edge.get(url)
      assert.deepEqual([headers.named, headers['set-cookie']], [undefined, undefined], url)
    }
  })
}

for (const soft of [false, true]) {
  test(`a ${soft ? 'soft ' : ''}purge of a tag holds if a running revalidation changes the tags`, async (t) => {
    /** @type {import('node:http').ServerResponse[]} */
    const held = []
    const edge = await startEdge(t, ({ headers }, response, count) => {
      if (headers['if-none-match'] && held.length === 0) return held.push(response)
      response.setHeader('Cache-Control', 'max-age=1')
        .setHeader('ETag', '"1"')
        .setHeader('Cache-Tag', 'before')
        .end(`body ${count}`)
    })
    await edge.get('/')
    await passing(1_050)
    const validating = edge.get('/')
    assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
    await edge.purge({ tags: ['before'], ...(soft && { invalidate_cache: true }) })
    held[0].setHeader('Cache-Tag', 'after').setHeader('Cache-Control', 'max-age=60').writeHead(304).end()
    await validating
    assert.equal((await edge.get('/')).body, 'body 3')
  })
}

test('a late response does not replace a newer one that has left the cache of parsed entries', async (t) => {
  /** @type {import('node:http').ServerResponse[]} */
  const held = []
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=600')
    if (request.url === '/' && count === 1) held.push(response)
    else response.end(request.url === '/' ? 'new' : Buffer.alloc(BODY_BYTES))
  })
  const first = edge.get('/')
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  assert.equal((await edge.get('/')).body, 'new', 'the waiting request has started its own fetch')
  for (let number = 0; number <= PARSED_MAX; number += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => edge.get(`/other-${number + more}`)))
  }
  held[0].end('old')
  assert.equal((await first).body, 'old')
  assert.equal((await edge.get('/')).body, 'new')
})

test('the files of aborted responses do not fill the list of cache files permanently', async (t) => {
  const edge = await startEdge(t, ({ url }, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
    if (!url?.startsWith('/cut')) return response.end(Buffer.alloc(100_000))
    response.setHeader('Content-Length', 200_000)
    response.write(Buffer.alloc(100_000), () => response.destroy())
  }, { configure: (text) => text.replace('lua_shared_dict segments 4m', 'lua_shared_dict segments 16k') })
  for (let number = 0; number < 600; number += AT_ONCE) {
    await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, more) => edge.get(`/cut-${number + more}`)))
  }
  for (const url of ['/one', '/two']) {
    assert.deepEqual([(await edge.get(url)).cache, (await edge.get(url)).cache], ['MISS', 'HIT'])
  }
})

test('a purge accepts other spellings of hosts, prefixes and tags, and refuses malformed ones', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=60').setHeader('Cache-Tag', 'one').end('body')
  })
  const host = { host: 'example.com' }
  for (const purge of [
    { hosts: ['example.com:80'] },
    { hosts: ['Example.COM.'] },
    { prefixes: ['example.com:80/p'] },
    { prefixes: ['http://example.com./p'] },
    { tags: [' one '] }
  ]) {
    await edge.get('/page', host)
    assert.equal((await edge.purge(purge)).status, 200)
    assert.equal((await edge.get('/page', host)).cache, 'MISS', JSON.stringify(purge))
  }
  for (const purge of [{ hosts: ['http://example.com'] }, { hosts: ['example.com/page'] }, { tags: ['  '] }]) {
    assert.equal((await edge.purge(purge)).status, 400, JSON.stringify(purge))
  }
})

test('stale-if-error does not serve a response that was purged during the failed fetch', async (t) => {
  /** @type {import('node:http').ServerResponse[]} */
  const held = []
  const edge = await startEdge(t, (_request, response, count) => {
    if (count > 1) held.push(response)
    else response.setHeader('Cache-Control', 'max-age=1, stale-if-error=600').end('body')
  })
  for (const [url, purge] of /** @type {[string, object][]} */ ([
    ['/all', { purge_everything: true }],
    ['/url', { files: [`http://${edge.host}/url`] }]
  ])) {
    await edge.get(url)
    await passing(1_050)
    const answers = [edge.get(url), edge.get(url)]
    assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
    await edge.purge(purge)
    // The other may have waited for this fetch, and then starts one of its own.
    const failing = setInterval(() => held.pop()?.writeHead(500).end('failed'), 10)
    t.after(() => clearInterval(failing))
    for (const answer of answers) assert.equal((await answer).status, 500, url)
    clearInterval(failing)
  }
})

test('an uncacheable body is aborted for a client that reads too slowly, and the client gets an error', async (t) => {
  const body = Buffer.alloc(40_000_000, 'x')
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('Cache-Control', 'no-store')
    if (request.url === '/length') response.setHeader('Content-Length', body.length)
    response.on('error', () => {}).write(body)
    response.end()
  }, { edits: [['body_stream.lua', 'local READER_PATIENCE_S = 60', 'local READER_PATIENCE_S = 1']] })
  for (const url of ['/chunked', '/length']) {
    const slow = await new Promise((resolve, reject) => {
      http.get(
        { host: '127.0.0.1', port: edge.port, path: url, agent: false },
        (response) => resolve(response.pause())
      ).on('error', reject)
    })
    await passing(2_000)
    await assert.rejects(async () => { for await (const chunk of slow) assert.ok(chunk) }, /aborted/, url)
  }
})
