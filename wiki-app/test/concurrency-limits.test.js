import assert from 'node:assert/strict'
import test from 'node:test'
import Fastify from 'fastify'
import { createConcurrencyLimits } from '../src/http/concurrency-limits.js'
import { createErrorHandler } from '../src/http/problem.js'
import { waitUntil } from '@stevec/harness/processes'
import { get } from './helper.js'

const WAIT_MAX_MS = 10_000
/** The initial limits of concurrent reads and of concurrent writes. */
const AT_ONCE = 64
const WRITES_AT_ONCE = 32

/**
 * Builds an application whose handlers run until the test ends them, with helpers that send requests and count.
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof createConcurrencyLimits>[0]} options
 */
async function build (t, options) {
  const app = Fastify()
  app.setErrorHandler(createErrorHandler(() => false))
  const limits = createConcurrencyLimits(options)
  /** @type {(() => void)[]} */
  const working = []
  /** @type {string[]} */
  const begun = []
  let arrived = 0
  app.addHook('preHandler', async () => { arrived++ })
  app.route({
    method: ['GET', 'POST'],
    url: '/',
    handler: limits.limited(async ({ method, body }) => {
      begun.push(body === undefined ? method : String(body))
      await new Promise((resolve) => { working.push(() => resolve(undefined)) })
      return 'done'
    })
  })
  for (const costly of /** @type {const} */ (['list', 'history', 'search'])) {
    app.get(`/${costly}`, limits.limited(async () => {
      begun.push(costly)
      await new Promise((resolve) => { working.push(() => resolve(undefined)) })
      return 'done'
    }, { costly }))
  }
  app.get('/short', limits.limited(async () => 'done'))
  app.get('/health', limits.limited(async () => 'healthy', { isView: false }))
  t.after(async () => {
    // After a failed test others still wait for their turn, and begin once these end.
    const ending = setInterval(() => { for (const end of working.splice(0)) end() }, 10)
    await app.close()
    clearInterval(ending)
  })
  // `async`, so that the request starts at once: `inject` alone starts only when its result is awaited.
  const ask = async () => get(app, '/')
  return { app, ask, working, arrived: () => arrived, begun: () => begun.length, bodies: () => begun }
}

/**
 * @param {string} url
 * @param {string} body
 * @param {AbortSignal} [signal]
 */
async function post (url, body, signal) {
  const start = performance.now()
  const { status } = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body, signal })
  return { status, ms: performance.now() - start }
}

test('requests over the limit wait; those that wait too long get 503 with Retry-After', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 1_000, workMaxMs: 600_000 })
  const first = Array.from({ length: AT_ONCE }, () => ask())
  assert.ok(await waitUntil(() => begun() === AT_ONCE, WAIT_MAX_MS))
  const [refused, ...others] = await Promise.all(Array.from({ length: 10 }, () => ask()))
  assert.equal(refused.headers['retry-after'], '2')
  assert.match(refused.json().detail, /has more to do than it can do/)
  assert.deepEqual([refused, ...others].map(({ statusCode }) => statusCode), Array(10).fill(503))
  assert.equal(begun(), AT_ONCE, 'no handler ran for the refused requests')

  const waits = ask()
  working.pop()?.()
  assert.ok(await waitUntil(() => begun() === AT_ONCE + 1, WAIT_MAX_MS), 'a waiting request starts when one ends')
  for (const end of working.splice(0)) end()
  assert.deepEqual(
    (await Promise.all([...first, waits])).map(({ statusCode }) => statusCode),
    Array(AT_ONCE + 1).fill(200)
  )
})

test('a request that hangs frees its slot for another', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 60_000 })
  for (let index = 0; index < AT_ONCE; index++) ask().catch(() => {})
  assert.ok(await waitUntil(() => begun() === AT_ONCE, WAIT_MAX_MS))
  const other = ask()
  assert.ok(await waitUntil(() => begun() > AT_ONCE, WAIT_MAX_MS))
  working.pop()?.()
  assert.equal((await other).statusCode, 200)
})

test('at most two costly reads run at once, and they do not delay other reads', async (t) => {
  const { app, ask, working, begun, arrived, bodies } = await build(t, { waitMaxMs: 60_000, workMaxMs: 600_000 })
  const costly = Array.from({ length: 6 }, async () => get(app, '/list'))
  assert.ok(await waitUntil(() => arrived() === 6, WAIT_MAX_MS))
  assert.equal(begun(), 2)
  const other = ask()
  assert.ok(await waitUntil(() => bodies().includes('GET'), WAIT_MAX_MS))
  for (const more of [4, 6]) {
    for (const end of working.splice(0)) end()
    assert.ok(await waitUntil(() => begun() === more + 1, WAIT_MAX_MS))
  }
  for (const end of working.splice(0)) end()
  assert.deepEqual((await Promise.all([...costly, other])).map(({ statusCode }) => statusCode), Array(7).fill(200))
})

test('classes of costly reads take turns, however many of one class wait', async (t) => {
  const { app, working, begun, arrived, bodies } = await build(t, { waitMaxMs: 60_000, workMaxMs: 600_000 })
  const asked = [...Array(12).fill('history'), 'list', 'search'].map(async (name, index) => {
    await waitUntil(() => arrived() === index, WAIT_MAX_MS)
    return get(app, `/${name}`)
  })
  assert.ok(await waitUntil(() => arrived() === asked.length, WAIT_MAX_MS))
  while (begun() < asked.length || working.length > 0) {
    working.shift()?.()
    await new Promise(setImmediate)
  }
  assert.ok((await Promise.all(asked)).every(({ statusCode }) => statusCode === 200))
  assert.deepEqual(bodies().slice(2, 5), ['history', 'list', 'search'], 'the first two had slots')
})

test('networks take turns, and a full line refuses those of a network with many before others', async (t) => {
  const { app, working, begun, arrived, bodies } = await build(t, {
    waitMaxMs: 60_000, workMaxMs: 600_000, networkOf: ({ headers }) => String(headers['x-network'])
  })
  const ask = async (/** @type {string} */ network) => (await get(app, '/history', { 'x-network': network })).statusCode
  const crawler = Array.from({ length: 80 }, () => ask('crawler'))
  assert.ok(await waitUntil(() => arrived() === crawler.length, WAIT_MAX_MS))
  const others = ['a', 'b', 'c'].map(ask)
  assert.ok(await waitUntil(() => arrived() === crawler.length + others.length, WAIT_MAX_MS))
  let ended = 0
  Promise.all(others).then(() => { ended = begun() })
  while (begun() < 2 + 64 || working.length > 0) {
    working.shift()?.()
    await new Promise(setImmediate)
  }
  assert.deepEqual(await Promise.all(others), [200, 200, 200])
  assert.ok(ended < 20, `the last of them waited for ${ended} requests`)
  const statuses = await Promise.all(crawler)
  assert.deepEqual([statuses.filter((status) => status === 200).length, new Set(statuses)], [63, new Set([200, 503])])
  assert.equal(bodies().length, 66)
})

for (const [what, visit] of /** @type {const} */ ([['page views', 'view'], ['saves', 'save']])) {
  test(`beside ${what}, costly reads rest for three times as long as they worked`, async (t) => {
    const { app, ask, working, begun } = await build(t, { waitMaxMs: 60_000, workMaxMs: 600_000 })
    const costly = Array.from({ length: 3 }, async () => get(app, '/list'))
    assert.ok(await waitUntil(() => begun() === 2, WAIT_MAX_MS))
    await new Promise((resolve) => setTimeout(resolve, 100))
    const person = visit === 'view' ? ask() : app.inject({ method: 'POST', url: '/', payload: {} })
    assert.ok(await waitUntil(() => begun() === 3, WAIT_MAX_MS))
    const endedAt = performance.now()
    for (const end of working.splice(0)) end()
    assert.ok(await waitUntil(() => begun() === 4, WAIT_MAX_MS))
    assert.ok(performance.now() - endedAt >= 290, `the next one began after ${performance.now() - endedAt} ms`)
    working.shift()?.()
    await Promise.all([person, ...costly])
  })
}

test('beside people, a sweep has one slot for an eightieth of the time, and other classes get it sooner', async (t) => {
  const { app, ask, working, begun, arrived, bodies } = await build(t, { waitMaxMs: 60_000, workMaxMs: 600_000 })
  // On a busy machine the work below takes so long that the rest after it is longer than people are remembered.
  const visits = setInterval(() => { get(app, '/short') }, 1_000)
  t.after(() => clearInterval(visits))
  const sweep = Array.from({ length: 12 }, async () => get(app, '/history'))
  assert.ok(await waitUntil(() => arrived() === sweep.length, WAIT_MAX_MS))
  const search = get(app, '/search').then(({ statusCode }) => statusCode)
  const people = [ask()]
  assert.ok(await waitUntil(() => begun() === 3, WAIT_MAX_MS))
  await new Promise((resolve) => setTimeout(resolve, 30))
  // On a busy machine the first visit may be long ago.
  people.push(ask())
  assert.ok(await waitUntil(() => begun() === 4, WAIT_MAX_MS))
  const endedAt = performance.now()
  for (const end of working.splice(0)) end()
  await Promise.all(people)
  assert.ok(await waitUntil(() => begun() > 4, WAIT_MAX_MS))
  assert.deepEqual(bodies().slice(4), ['search'])
  for (const end of working.splice(0)) end()
  assert.equal(await search, 200)
  assert.ok(await waitUntil(() => begun() > 5, 3 * WAIT_MAX_MS))
  assert.ok(performance.now() - endedAt >= 2_300, `the sweep went on after ${performance.now() - endedAt} ms`)
  assert.equal(begun(), 6, 'both slots have rested, but one is in use')
  clearInterval(visits)
  while (begun() < sweep.length + 3 || working.length > 0) {
    for (const end of working.splice(0)) end()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  assert.ok((await Promise.all(sweep)).every(({ statusCode }) => statusCode === 200))
})

test('what a sweep brings at once is not refused at once', async (t) => {
  // They are refused within three seconds, much longer than a busy machine stands still.
  const { app, working, begun } = await build(t, { waitMaxMs: 300, workMaxMs: 600_000 })
  let refused = 0
  await Promise.race(Array.from({ length: 42 }, async () => {
    const { statusCode } = await get(app, '/history')
    refused += Number(statusCode === 503)
  }))
  assert.ok(refused > 0 && refused < 20, `${refused} of 40 at once`)
  assert.ok(await waitUntil(() => refused === 40, WAIT_MAX_MS))
  assert.equal(begun(), 2)
  for (const end of working.splice(0)) end()
})

test('without people they do not rest: neither checks of health nor costly reads are one', async (t) => {
  const { app, working, begun } = await build(t, { waitMaxMs: 60_000, workMaxMs: 600_000 })
  assert.equal((await get(app, '/health')).statusCode, 200)
  const costly = Array.from({ length: 3 }, async () => get(app, '/list'))
  assert.ok(await waitUntil(() => begun() === 2, WAIT_MAX_MS))
  for (const end of working.splice(0)) end()
  await Promise.race(costly)
  assert.equal(begun(), 3, 'the next one began when a slot was free, before a response was sent')
  working.shift()?.()
  await Promise.all(costly)
})

test('with a maximum wait of 0 there is no limit and no refusal', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 0 })
  const all = Array.from({ length: 5 * AT_ONCE }, () => ask())
  assert.ok(await waitUntil(() => begun() === all.length, WAIT_MAX_MS))
  for (const end of working) end()
  assert.ok((await Promise.all(all)).every(({ statusCode }) => statusCode === 200))
})

test('a write that gets no slot is refused with 503, but not before the maximum wait', async (t) => {
  const waitMaxMs = 2_000
  const { app, working, begun } = await build(t, { waitMaxMs, workMaxMs: 600_000 })
  const url = await app.listen()
  const first = Array.from({ length: WRITES_AT_ONCE }, (_, index) => post(url, `first ${index}`))
  assert.ok(await waitUntil(() => begun() === WRITES_AT_ONCE, WAIT_MAX_MS))
  const refused = await Promise.all(Array.from({ length: WRITES_AT_ONCE }, (_, index) => post(url, `refused ${index}`)))
  assert.deepEqual([...new Set(refused.map(({ status }) => status))], [503])
  assert.ok(Math.min(...refused.map(({ ms }) => ms)) >= waitMaxMs, 'no refusal comes earlier')
  assert.equal(begun(), WRITES_AT_ONCE)
  for (const end of working.splice(0)) end()
  assert.deepEqual([...new Set((await Promise.all(first)).map(({ status }) => status))], [200])
})

test('of many concurrent writes, 32 run at once and all succeed', async (t) => {
  const { app, working, arrived, begun } = await build(t, { waitMaxMs: 600_000, workMaxMs: 600_000 })
  const url = await app.listen()
  const all = Array.from({ length: 3 * WRITES_AT_ONCE }, (_, index) => post(url, String(index)))
  assert.ok(await waitUntil(() => arrived() === all.length, WAIT_MAX_MS))
  assert.equal(begun(), WRITES_AT_ONCE)
  while (begun() < all.length || working.length > 0) {
    working.shift()?.()
    await new Promise(setImmediate)
  }
  assert.ok((await Promise.all(all)).every(({ status }) => status === 200))
})

test('a waiting write whose client disconnects never runs', async (t) => {
  const { app, working, arrived, begun, bodies } = await build(t, { waitMaxMs: 600_000, workMaxMs: 600_000 })
  const url = await app.listen()
  const connections = () => new Promise((resolve) => { app.server.getConnections((_, count) => resolve(count)) })
  const first = Array.from({ length: WRITES_AT_ONCE }, () => post(url, 'first'))
  assert.ok(await waitUntil(() => begun() === WRITES_AT_ONCE, WAIT_MAX_MS))
  const leaving = new AbortController()
  const left = Array.from({ length: 5 }, () => post(url, 'left', leaving.signal).catch(({ name }) => name))
  const stays = post(url, 'stays')
  assert.ok(await waitUntil(() => arrived() === WRITES_AT_ONCE + 6, WAIT_MAX_MS))
  leaving.abort()
  assert.deepEqual(await Promise.all(left), Array(5).fill('AbortError'))
  assert.ok(await waitUntil(async () => await connections() === WRITES_AT_ONCE + 1, WAIT_MAX_MS))
  while (!bodies().includes('stays')) {
    working.shift()?.()
    await new Promise(setImmediate)
  }
  for (const end of working.splice(0)) end()
  assert.equal((await stays).status, 200)
  await Promise.all(first)
  assert.ok(!bodies().includes('left'))
})

test('a read does not wait behind queued writes', async (t) => {
  const { app, ask, working, begun } = await build(t, { waitMaxMs: 600_000, workMaxMs: 600_000 })
  const url = await app.listen()
  const writes = Array.from({ length: 2 * WRITES_AT_ONCE }, () => post(url, 'x'))
  assert.ok(await waitUntil(() => begun() === WRITES_AT_ONCE, WAIT_MAX_MS))
  const read = ask()
  assert.ok(await waitUntil(() => begun() === WRITES_AT_ONCE + 1, WAIT_MAX_MS))
  working.pop()?.()
  assert.equal((await read).statusCode, 200)
  while (begun() < 2 * WRITES_AT_ONCE + 1 || working.length > 0) {
    working.shift()?.()
    await new Promise(setImmediate)
  }
  await Promise.all(writes)
})
