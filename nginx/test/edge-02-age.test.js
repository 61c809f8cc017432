import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpDate, passing, startEdge } from './edge-helper.js'

test('Age is the time in seconds since the origin created the response', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    if (request.url === '/aged') response.setHeader('Age', '100')
    if (request.url === '/dated') response.setHeader('Date', httpDate(-50))
    response.setHeader('Cache-Control', 'max-age=600').end('body')
  })
  const startedAt = performance.now()
  const misses = await Promise.all(['/plain', '/aged', '/dated'].map((url) => edge.get(url)))
  assert.deepEqual(
    misses.map(({ cache, age }) => [cache, age]),
    [['MISS', undefined], ['MISS', undefined], ['MISS', undefined]]
  )
  await passing(2_050)
  const hits = await Promise.all(['/plain', '/aged', '/dated'].map((url) => edge.get(url)))
  assert.deepEqual(hits.map(({ cache }) => cache), ['HIT', 'HIT', 'HIT'])
  // An age can be one second higher: Date is in whole seconds.
  const mostS = Math.ceil((performance.now() - startedAt) / 1000)
  for (const [index, base] of [0, 100, 50].entries()) {
    const age = Number(hits[index].age) - base
    assert.ok(age >= 2 && age <= mostS, `${base} + ${age}`)
  }
  assert.equal(hits[2].headers.date, misses[2].headers.date)
})

test('on a miss or a write, rfc9111 forwards the origin\'s Age, cloudflare does not', async (t) => {
  for (const [profile, age] of /** @type {['rfc9111' | 'cloudflare', number | undefined][]} */ ([
    ['rfc9111', 100],
    ['cloudflare', undefined]
  ])) {
    const edge = await startEdge(
      t,
      (_request, response) => response.setHeader('Age', '100').setHeader('Cache-Control', 'max-age=600').end('body'),
      { profile }
    )
    assert.deepEqual([(await edge.get('/')).age, (await edge.get('/', {}, 'POST')).age], [age, age], profile)
  }
})

test('the origin\'s Age shortens the freshness lifetime', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=65').setHeader('Age', '60').end('body')
  })
  await edge.get('/')
  assert.equal((await edge.get('/')).cache, 'HIT')
  await passing(5_050)
  assert.equal((await edge.get('/')).cache, 'EXPIRED')
})

test('the edge adds a Date to a response without one, and stores it', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.sendDate = false
    response.setHeader('Cache-Control', 'max-age=60').end('body')
  })
  await edge.get('/')
  const first = await edge.get('/')
  await passing(1_050)
  const second = await edge.get('/')
  assert.ok(Date.parse(String(first.headers.date)) > 0)
  assert.equal(second.headers.date, first.headers.date)
})
