import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

test('the counter reports the requests since its last reading', async (t) => {
  const app = await wiki.build(t)
  const first = await get(app, '/wiki/stevec')
  assert.equal(first.headers['cache-control'], 'private, no-store')
  assert.deepEqual(first.json(), { requests: 0, reads: 0, writes: 0 })

  await save(app, 'a', 'text')
  await get(app, '/wiki/a')
  await app.inject({ method: 'HEAD', url: '/wiki/a' })
  await get(app, '/')
  assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 4, reads: 3, writes: 1 })
  assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 0, reads: 0, writes: 0 })
})

test('the API’s totals survive each reading, and the reset-on-read count stays as it is', async (t) => {
  const app = await wiki.build(t)
  const totals = () => get(app, '/api/v1/counter')
  const first = await totals()
  assert.equal(first.headers['cache-control'], 'private, no-store')
  const { epoch, count } = first.json()
  assert.deepEqual(count, { requests: 0, reads: 0, writes: 0 })

  await save(app, 'a', 'text')
  await get(app, '/wiki/a')
  const two = { requests: 2, reads: 1, writes: 1 }
  assert.deepEqual((await totals()).json(), { epoch, count: two })
  await app.inject({ method: 'HEAD', url: '/api/v1/counter' })
  const taken = await get(app, '/wiki/stevec')
  assert.deepEqual(taken.json(), two, 'a reading of the totals neither counts nor resets')
  assert.equal(taken.headers['counter-instance'], epoch)

  await get(app, '/')
  assert.deepEqual((await totals()).json(), { epoch, count: { requests: 3, reads: 2, writes: 1 } })
  assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 1, reads: 1, writes: 0 })
  assert.notEqual((await get(await wiki.build(t), '/api/v1/counter')).json().epoch, epoch, 'another wiki counts anew')
})

test('every request counts, refused or not, except counter readings and health probes', async (t) => {
  const app = await wiki.build(t)
  const requests = /** @type {const} */ ([
    // Reads.
    ['GET', '/wiki/none', 404], ['GET', '/nowhere', 404], ['GET', '/wiki/%zz', 400], ['GET', '/wiki/%00', 400],
    ['GET', '/edit/text/a', 200], ['GET', '/wiki/%20stevec', 301], ['OPTIONS', '/wiki/a', 405],
    ['GET', '/favicon.ico', 200],
    // Writes.
    ['POST', '/wiki/a', 400], ['DELETE', '/wiki/a', 404], ['PUT', '/wiki/a', 405], ['PURGE', '/', 405],
    ['PROPFIND', '/nowhere', 404], ['POST', '/wiki/stevec', 405], ['DELETE', '/wiki/stevec', 405],
    ['POST', '/wiki/%zz', 400]
  ])
  for (const [method, url, status] of requests) {
    const { statusCode } = await app.inject({ method: /** @type {'GET'} */ (method), url })
    assert.equal(statusCode, status, `${method} ${url}`)
  }
  assert.equal(
    (await app.inject({ method: 'POST', url: '/wiki/a', headers: { 'sec-fetch-site': 'cross-site' } })).statusCode,
    403
  )

  for (const url of ['/healthz', '/readyz']) {
    await get(app, url)
    await app.inject({ method: 'HEAD', url })
  }
  const head = await app.inject({ method: 'HEAD', url: '/wiki/stevec' })
  assert.equal(head.statusCode, 200)
  assert.equal(head.body, '')
  assert.deepEqual((await get(app, '/wiki/stevec?x=1', BROWSER)).json(), { requests: 17, reads: 8, writes: 9 })
})

test('every spelling of the counter’s URL reaches the counter, and no page can have its name', async (t) => {
  const app = await wiki.build(t)
  for (const url of ['/wiki/%73tevec', '/wiki/stev%65c', '/%77iki/stevec']) {
    await get(app, '/')
    assert.deepEqual((await get(app, url)).json(), { requests: 1, reads: 1, writes: 0 })
    for (const method of /** @type {const} */ (['POST', 'DELETE', 'PUT'])) {
      const refused = await app.inject({ method, url, headers: { 'content-type': 'text/markdown' }, payload: 'x' })
      assert.equal(refused.statusCode, 405)
      assert.equal(refused.headers.allow, 'GET, HEAD')
      assert.match(refused.json().detail, /“stevec” is reserved/)
    }
    assert.equal((await get(app, '/wiki/stevec')).json().writes, 3)
  }
  assert.equal((await save(app, ' stevec', 'x')).statusCode, 400)
  assert.equal((await get(app, '/edit/text/stevec')).statusCode, 400)
})

test('of 2000 concurrent requests, none is lost or counted twice', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await get(app, '/wiki/stevec')

  /** @type {Promise<{requests: number, reads: number, writes: number}>[]} */
  const readings = []
  const requests = []
  for (let i = 0; i < 2_000; i++) {
    if (i % 10 === 0) requests.push(save(app, `page ${i % 70}`, `text ${i}`))
    else if (i % 10 === 1) requests.push(get(app, '/wiki/none'))
    else requests.push(get(app, '/wiki/a'))
    if (i % 37 === 0) readings.push(get(app, '/wiki/stevec').then((answer) => answer.json()))
  }
  await Promise.all(requests)
  readings.push(get(app, '/wiki/stevec').then((answer) => answer.json()))

  const total = { requests: 0, reads: 0, writes: 0 }
  for (const { requests, reads, writes } of await Promise.all(readings)) {
    total.requests += requests
    total.reads += reads
    total.writes += writes
  }
  assert.deepEqual(total, { requests: 2_000, reads: 1_800, writes: 200 })
})

test('under overload, /healthz and the counter respond, and other requests get 200 or 503', async (t) => {
  const app = await wiki.build(t, { QUEUE_WAIT_MAX_MS: '1' })
  const asked = Array.from({ length: 200 }, async (_, index) => get(app, `/search?q=${index}`))
  for (const url of ['/healthz', '/wiki/stevec', '/api/v1/counter']) assert.equal((await get(app, url)).statusCode, 200, url)
  const statuses = new Set((await Promise.all(asked)).map(({ statusCode }) => statusCode))
  assert.deepEqual([...statuses].sort(), [200, 503])
})
