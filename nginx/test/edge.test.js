import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { request } from '@stevec/harness/request'
import { cacheStatus, startRole, WAIT_MAX_MS } from './helper.js'

describe('the edge', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let edge
  before(async () => {
    edge = await startRole('edge', (incoming, response) => {
      const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://origin')
      const cacheControl = searchParams.get('cc')
      if (cacheControl !== null) response.setHeader('Cache-Control', cacheControl)
      response.setHeader('Page-Revision', '7')
      response.setHeader('ETag', '"one"')
      if (incoming.headers['if-none-match'] === '"one"') response.writeHead(304).end()
      else if (pathname === '/hinted') {
        response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => response.end('hinted'))
      } else if (pathname === '/slow') setTimeout(() => response.end('slow'), 200)
      else response.end(`answer to ${incoming.method} ${incoming.headers.host}`)
    })
  })
  after(() => edge.stop())

  const at = (/** @type {string} */ target) => `${edge.url('wiki.localhost')}${target}`

  test('stores a cacheable response: MISS, then HIT', async () => {
    const target = at('/a?cc=public,max-age=60')
    assert.equal(await cacheStatus(target), 'MISS')
    assert.equal(await cacheStatus(target), 'HIT')
    assert.equal(edge.arrived.filter(({ url }) => url?.startsWith('/a?')).length, 1)
  })

  test('revalidates an expired response with a conditional request', async () => {
    const target = at('/expires?cc=public,max-age=1')
    assert.equal(await cacheStatus(target), 'MISS')
    const deadline = Date.now() + WAIT_MAX_MS
    let status
    do status = await cacheStatus(target); while (status === 'HIT' && Date.now() < deadline)
    assert.equal(status, 'REVALIDATED')
    assert.equal(
      edge.arrived.filter(({ url }) => url?.startsWith('/expires')).at(-1)?.headers['if-none-match'],
      '"one"'
    )
  })

  for (const directive of ['no-store', 'private', 'no-cache', 'private, no-store']) {
    test(`does not store a response with ${directive} and reports BYPASS, as Cloudflare does`, async () => {
      const target = at(`/not-stored?cc=${encodeURIComponent(directive)}`)
      assert.equal(await cacheStatus(target), 'BYPASS')
      assert.equal(await cacheStatus(target), 'BYPASS')
    })
  }

  test('does not store a response without caching headers', async () => {
    assert.equal(await cacheStatus(at('/silent')), 'MISS')
    assert.equal(await cacheStatus(at('/silent')), 'MISS')
  })

  test('skips interim (1xx) responses at both doors, for GET, POST and DELETE', async () => {
    for (const host of ['wiki.localhost', 'nocache.localhost']) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status, headers, body } = await request(`${edge.url(host)}/hinted`, { method })
        assert.deepEqual([status, headers.link, body], [200, undefined, 'hinted'], `${host} ${method}`)
      }
    }
  })

  test('forwards a write to the origin and reports DYNAMIC', async () => {
    const target = at('/a?cc=public,max-age=60')
    const { headers, body } = await request(target, { method: 'POST', body: 'x' })
    assert.equal(headers['cf-cache-status'], 'DYNAMIC')
    assert.match(body, /^answer to POST wiki\.localhost/)
  })

  test('collapses simultaneous misses of one page into one request to the origin', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => request(at('/slow?cc=public,max-age=60'))))
    assert.deepEqual([...new Set(answers.map(({ body }) => body))], ['slow'])
    assert.equal(edge.arrived.filter(({ url }) => url?.startsWith('/slow')).length, 1)
  })

  test('stores pages with different query strings separately', async () => {
    assert.equal(await cacheStatus(at('/q?cc=public,max-age=60&x=1')), 'MISS')
    assert.equal(await cacheStatus(at('/q?cc=public,max-age=60&x=2')), 'MISS')
  })

  test('stores nothing for the door nocache and reports BYPASS', async () => {
    const target = `${edge.url('nocache.localhost')}/n?cc=public,max-age=60`
    assert.equal(await cacheStatus(target), 'BYPASS')
    assert.equal(await cacheStatus(target), 'BYPASS')
    assert.equal(edge.arrived.filter(({ url }) => url?.startsWith('/n?')).length, 2)
  })

  test('refuses an unknown host with 421 and lists its own hosts', async () => {
    const { status, body } = await request(`${edge.url('example.localhost')}/`)
    assert.equal(status, 421)
    assert.match(body, /wiki\.localhost.*nocache\.localhost/)
  })

  test('logs one JSON object per request, with the cache status and, also on a HIT, the page revision', async () => {
    const target = at('/logged"quote?cc=public,max-age=60').replace('"', '%22')
    await request(target)
    await request(target)
    const logged = await edge.log('/logged', 2)
    assert.deepEqual(logged.map((line) => line.cache_status), ['MISS', 'HIT'])
    assert.deepEqual(logged.map((line) => line.page_revision), ['7', '7'])
    assert.deepEqual(logged.map((line) => line.status), [200, 200])
    assert.ok(logged.every((line) => line.host === 'wiki.localhost' && line.method === 'GET' && line.sent_bytes > 0))
  })
})
