import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { byteServer, passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

test('stale-while-revalidate serves the stale response as UPDATING while one fetch gets the new one', async (t) => {
  /** Holds back the second response until all clients have theirs: a client that waited for it would wait forever. */
  let letGo = () => {}
  const held = new Promise((resolve) => { letGo = () => resolve(undefined) })
  const edge = await startEdge(t, async (_request, response, count) => {
    if (count > 1) await held
    // The second response stays fresh, however long a busy machine takes to look at it.
    const maxAge = count > 1 ? 60 : 1
    response.setHeader('Cache-Control', `max-age=${maxAge}, stale-while-revalidate=60`).end(`body ${count}`)
  })
  await edge.get('/')
  await passing(1_050)
  const updating = await Promise.all(Array.from({ length: 5 }, () => edge.get('/')))
  assert.deepEqual(updating.map(({ cache, body }) => [cache, body]), Array(5).fill(['UPDATING', 'body 1']))
  assert.ok(updating.every(({ age }) => Number(age) >= 1))
  letGo()
  await waitUntil(async () => (await edge.get('/')).body === 'body 2', WAIT_MAX_MS)
  assert.equal((await edge.get('/')).cache, 'HIT')
  assert.equal(edge.reached('/'), 2)
  assert.equal(await edge.countRefreshes(), 1, 'the log counts one background fetch')
})

test('after the stale-while-revalidate window a client waits for the new response', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response, count) => response.setHeader('Cache-Control', 'max-age=1, stale-while-revalidate=1')
      .end(`body ${count}`)
  )
  await edge.get('/')
  await passing(2_100)
  const answer = await edge.get('/')
  assert.deepEqual([answer.cache, answer.body], ['EXPIRED', 'body 2'])
})

for (const directive of ['must-revalidate', 'proxy-revalidate', 's-maxage=1']) {
  test(`${directive} forbids stale responses`, async (t) => {
    const edge = await startEdge(t, (_request, response, count) => {
      if (count > 1) response.statusCode = 500
      response
        .setHeader('Cache-Control', `max-age=1, stale-while-revalidate=60, stale-if-error=60, ${directive}`)
        .end(`body ${count}`)
    })
    await edge.get('/')
    await passing(1_050)
    const answer = await edge.get('/')
    assert.deepEqual([answer.status, answer.body], [500, 'body 2'])
  })
}

test('with stale-if-error a 5xx gives all waiting requests the stale response, and is not stored', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    if (count === 2) response.statusCode = 503
    response.setHeader('Cache-Control', 'max-age=1, stale-if-error=60')
    // Delays the error until all three requests are waiting.
    setTimeout(() => response.end(`body ${count}`), count === 2 ? 2_000 : 0)
  })
  await edge.get('/')
  await passing(1_100)
  const stale = await Promise.all([edge.get('/'), edge.get('/'), edge.get('/')])
  assert.deepEqual(
    stale.map(({ status, cache, body }) => [status, cache, body]),
    Array(3).fill([200, 'STALE', 'body 1'])
  )
  assert.equal((await edge.get('/')).cache, 'EXPIRED')
})

test('a 429 is forwarded, and the stored response stays available for stale-if-error', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    if (count > 1) response.statusCode = count === 2 ? 429 : 503
    else response.setHeader('Cache-Control', 'max-age=1, stale-if-error=60')
    response.end(`body ${count}`)
  })
  await edge.get('/')
  await passing(1_100)
  const answers = [await edge.get('/'), await edge.get('/')]
  assert.deepEqual(answers.map(({ status, body }) => [status, body]), [[429, 'body 2'], [200, 'body 1']])
  assert.equal(answers[1].cache, 'STALE')
})

test('while the origin is down, clients get a stale response with stale-if-error, and a 502 without it', async (t) => {
  const edge = await startEdge(
    t,
    (request, response) => response
      .setHeader('Cache-Control', request.url === '/hidden' ? 'max-age=1, stale-if-error=60' : 'max-age=1')
      .end('body')
  )
  for (const url of ['/hidden', '/shown']) await edge.get(url)
  await edge.closeOrigin()
  await passing(1_050)
  const hidden = await edge.get('/hidden')
  assert.deepEqual([hidden.status, hidden.cache, hidden.body], [200, 'STALE', 'body'])
  assert.equal((await edge.get('/shown')).status, 502)
})

test('while the origin is down, a stale response with must-revalidate is an error, whatever the request allows', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response) => response.setHeader('Cache-Control', 'max-age=1, must-revalidate').end('body'),
    { profile: 'rfc9111' }
  )
  await edge.get('/')
  await edge.closeOrigin()
  await passing(1_050)
  assert.equal((await edge.get('/', { 'cache-control': 'max-stale' })).status, 502)
})

test('until its window ends, stale-if-error applies to an origin that closes without a response', async (t) => {
  let requests = 0
  const edge = await startEdge(t, byteServer((socket) => {
    requests += 1
    const fields = 'Cache-Control: max-age=1, stale-if-error=5\r\nContent-Length: 4'
    if (requests === 1) socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\nbody`)
    else socket.destroy()
  }))
  await edge.get('/')
  await passing(1_050)
  assert.equal((await edge.get('/')).cache, 'STALE')
  await passing(5_000)
  assert.equal((await edge.get('/')).status, 502)
})

test('a 5xx is not stored and does not replace the stored response', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => {
    if (count === 2) response.writeHead(500).end('broken')
    else response.setHeader('Cache-Control', 'max-age=1').setHeader('ETag', '"1"').end('body')
  })
  await edge.get('/')
  await passing(1_050)
  assert.equal((await edge.get('/')).status, 500)
  assert.equal((await edge.get('/')).status, 200)
  assert.equal(edge.arrived.at(-1)?.headers['if-none-match'], '"1"', 'the stored response was there to be validated')
})
