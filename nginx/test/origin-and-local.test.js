import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { render } from '@stevec/nginx'
import { request } from '@stevec/harness/request'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { cacheStatus, startRole, WAIT_MAX_MS } from './helper.js'

describe('the origin\'s reverse proxy', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let origin
  before(async () => {
    origin = await startRole('origin', (incoming, response) => {
      response.setHeader('Cache-Control', 'public, max-age=60').setHeader('ETag', '"strong"')
      let size = 0
      incoming.on('data', (chunk) => { size += chunk.length })
      incoming.on('end', () => response.end(`${incoming.method} of ${size} bytes for ${incoming.headers.host}`))
    })
  })
  after(() => origin.stop())

  test('forwards every request with its Host and adds no cache header', async () => {
    for (let count = 1; count <= 2; count++) {
      const { body, headers } = await request(`${origin.url('source.localhost')}/x`)
      assert.match(body, /^GET of 0 bytes for source\.localhost:\d+$/)
      assert.equal(headers.etag, '"strong"')
      assert.equal(headers['cf-cache-status'], undefined)
      assert.equal(origin.arrived.filter(({ url }) => url === '/x').length, count)
    }
  })

  test('reuses its connections to the wiki', async () => {
    await request(`${origin.url('source.localhost')}/first`)
    await request(`${origin.url('source.localhost')}/second`)
    const [first, second] = ['/first', '/second'].map((path) => origin.arrived.find(({ url }) => url === path))
    assert.ok(first?.socket.remotePort)
    assert.equal(first?.socket, second?.socket)
  })

  test('forwards a large body, as only the wiki may refuse it', async () => {
    const { body } = await request(`${origin.url('source.localhost')}/x`, {
      method: 'POST',
      body: 'x'.repeat(3_000_000)
    })
    assert.match(body, /^POST of 3000000 bytes/)
  })
})

for (const wikis of [1, 2]) {
  describe(`the origin's proxy with requestsAtOnceMax 2, ${wikis === 1 ? 'one wiki' : 'two wikis, one of them down'}`, () => {
    /** @type {Awaited<ReturnType<typeof startRole>>} */
    let origin
    /** The responses that are held back. @type {(() => void)[]} */
    let held = []
    before(async () => {
      const others = wikis === 1 ? [] : await freePorts(1)
      origin = await startRole('origin', (incoming, response) => {
        if (incoming.url === '/breaks') incoming.socket.destroy()
        else if (incoming.url === '/held' || incoming.url?.startsWith('/history/')) held.push(() => response.end('answered'))
        else response.end('at once')
      }, { requestsAtOnceMax: 2, others })
    })
    after(() => origin.stop())

    test('answers further requests itself with 503, and forwards requests again when the wiki is free', async () => {
      const url = `${origin.url('source.localhost')}/held`
      const two = [request(url), request(url)]
      assert.ok(await waitUntil(() => held.length === 2, WAIT_MAX_MS))
      for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
        const { status, headers, body } = await request(url, { method, ...(method !== 'GET' && { body: 'x' }) })
        assert.deepEqual(
          [method, status, headers['retry-after'], headers['cache-control']],
          [method, 503, '2', 'no-store']
        )
        assert.match(body, /has more to do than it can do/)
      }
      assert.equal(held.length, 2, 'the wiki received none of them')
      for (const answer of held) answer()
      held = []
      assert.deepEqual((await Promise.all(two)).map(({ body }) => body), ['answered', 'answered'])
      assert.equal((await request(`${origin.url('source.localhost')}/`)).body, 'at once')
    })

    test('costly reads have slots of their own, old texts others, and leave those of page views free', async () => {
      const url = origin.url('source.localhost')
      const costly = request(`${url}/history/a`)
      assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
      const refused = await request(`${url}/history/b`)
      assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '2'])
      assert.equal((await request(`${url}/wiki/a`)).body, 'at once')
      assert.equal((await request(`${url}/search?q=a`)).body, 'at once')
      const two = [request(`${url}/held`), request(`${url}/history/a`, { method: 'POST', body: 'x' })]
      assert.ok(await waitUntil(() => held.length === 3, WAIT_MAX_MS), 'what is no read has a slot of the others')
      for (const answer of held) answer()
      held = []
      assert.deepEqual((await Promise.all([costly, ...two])).map(({ body }) => body), Array(3).fill('answered'))
    })

    test('a wiki that closes the connection causes a 502, not a 503', async () => {
      for (const method of ['GET', 'PUT', 'POST']) {
        const { status, headers, body } = await request(
          `${origin.url('source.localhost')}/breaks`,
          { method, ...(method !== 'GET' && { body: 'x' }) }
        )
        assert.deepEqual([method, status, headers['retry-after']], [method, 502, undefined])
        assert.match(body, /Whether it did what it was asked is not known/)
      }
    })
  })
}

describe('the client\'s caching proxy', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let local
  before(async () => {
    local = await startRole('local', (incoming, response) => {
      response.setHeader('Cache-Control', 'public, max-age=60')
      response.end(`for ${incoming.headers.host}`)
    })
  })
  after(() => local.stop())

  test('stores a response, reports it in X-Cache-Status, and sends the origin its own host name', async () => {
    const target = `${local.url('localhost')}/x`
    assert.equal(await cacheStatus(target), 'MISS')
    const { body, headers } = await request(target)
    assert.equal(headers['x-cache-status'], 'HIT')
    assert.match(body, /^for source\.localhost/)
  })
})

test('wikis on other machines have addresses of IPv4 with a port; nothing else gets into the configuration', () => {
  const role = (/** @type {string[]} */ wikiAddresses) =>
    render({ role: 'origin', port: 80, wikiAddresses }, { directory: '/d', modulesDirectory: '/m', user: '' })
  const text = role(['10.0.0.1:3000', '10.0.0.2:3000'])
  assert.match(text, /upstream wiki_2 \{[^}]*server 10\.0\.0\.2:3000 max_fails=0;/)
  assert.match(text, /start\(\{ "10\.0\.0\.1:3000", "10\.0\.0\.2:3000" \}\)/)
  assert.throws(() => role([]), /needs wikis as ip:port, not /)
  for (const wrong of ['wiki:3000', '10.0.0.1', '10.0.0.1:3000; }', '10.0.0.1:3000"', '10.0.0.1:3000\n']) {
    assert.throws(() => role([wrong]), /needs wikis as ip:port, not /)
  }
})
