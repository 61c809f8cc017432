import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const PAGE = 'x'.repeat(5_000)
const LARGE = 'y'.repeat(100_000)
const MAX_SIZE_BYTES = 2_000_000
const HOT = Array.from({ length: 40 }, (_, at) => `/hot/${at}`)
/** Five times what the cache holds. */
const COLD = Array.from({ length: 2_000 }, (_, at) => `/cold/${at}`)

/** Without responses in memory, a HIT is one from disk. @type {[string, string, string]} */
const NO_MEMORY = ['store.lua', 'PARSED_BYTES_MAX = 2 * 1024 * 1024', 'PARSED_BYTES_MAX = 0']

/** @type {import('./edge-helper.js').Script} */
const script = (request, response, count) => {
  response.setHeader('Cache-Control', 'max-age=3600').setHeader('ETag', '"1"').setHeader('Cache-Tag', 'all')
  if (request.headers['if-none-match'] === '"1"') response.statusCode = 304
  response.end(response.statusCode === 304 ? undefined : request.url?.startsWith('/large') ? LARGE : `${count} ${PAGE}`)
}

/** @param {import('node:test').TestContext} t @param {[string, string, string][]} [edits] */
const start = (t, edits = []) => startEdge(t, script, { maxSizeBytes: MAX_SIZE_BYTES, edits: [NO_MEMORY, ...edits] })

/** @param {Awaited<ReturnType<typeof startEdge>>} edge @param {string[]} urls */
async function statusesOf (edge, urls) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const url of urls) {
    const { cache } = await edge.get(url)
    counts[cache] = (counts[cache] ?? 0) + 1
  }
  return counts
}

test('a scan of URLs that are used once evicts nothing that was used before it', async (t) => {
  const edge = await start(t)
  // A large body has a file of its own. The heads of these two are in files before and after it.
  const used = ['/large-first', ...HOT, '/large']
  assert.deepEqual(await statusesOf(edge, [...used, ...used]), { MISS: used.length, HIT: used.length })
  assert.deepEqual(await statusesOf(edge, COLD), { MISS: COLD.length })
  assert.deepEqual(await statusesOf(edge, used), { HIT: used.length })
  assert.equal((await edge.get('/large')).body, LARGE)
  assert.equal((await edge.get(HOT[7])).body, `1 ${PAGE}`)
  assert.ok((await statusesOf(edge, COLD.slice(-250))).HIT > 150, 'others use the room that main does not need')
})

test('without the second chance, the same scan evicts it: so this test can fail', async (t) => {
  const edge = await start(t, [['rescue.lua', 'USED = 2', 'USED = 99']])
  await statusesOf(edge, [...HOT, ...HOT])
  await statusesOf(edge, COLD)
  assert.deepEqual(await statusesOf(edge, HOT), { MISS: HOT.length })
})

test('what was evicted, and comes back, is kept by the next scan', async (t) => {
  const edge = await start(t)
  await statusesOf(edge, HOT)
  await statusesOf(edge, COLD)
  assert.deepEqual(await statusesOf(edge, HOT), { MISS: HOT.length })
  await statusesOf(edge, COLD.map((url) => `${url}/next`))
  assert.deepEqual(await statusesOf(edge, HOT), { HIT: HOT.length })
})

test('eviction brings back nothing that was purged, and what is stale stays stale', async (t) => {
  const edge = await start(t)
  await statusesOf(edge, [...HOT, ...HOT])
  const url = (/** @type {number} */ at) => `http://${edge.host}${HOT[at]}`
  await edge.purge({ files: [url(0)] })
  await edge.purge({ files: [url(1)], invalidate_cache: true })
  await statusesOf(edge, COLD)
  assert.deepEqual(await statusesOf(edge, HOT.slice(0, 3)), { MISS: 1, REVALIDATED: 1, HIT: 1 })
  await edge.purge({ tags: ['all'] })
  await statusesOf(edge, COLD.map((each) => `${each}/next`))
  assert.deepEqual(await statusesOf(edge, HOT), { MISS: HOT.length })
})

test('after a restart the cache still knows what was used', async (t) => {
  const edge = await start(t)
  await statusesOf(edge, [...HOT, ...HOT])
  await statusesOf(edge, COLD.slice(0, 500))
  const current = path.join(edge.directory, 'answers', 'current')
  assert.ok(await waitUntil(() => existsSync(current), WAIT_MAX_MS), edge.errors())
  await edge.restart()
  assert.deepEqual(await statusesOf(edge, HOT.slice(0, 5)), { HIT: 5 })
  await statusesOf(edge, COLD.slice(500))
  assert.deepEqual(await statusesOf(edge, HOT), { HIT: HOT.length })
})

test('a full cache still stores a large body that grows while others are stored', async (t) => {
  /** @type {import('node:http').ServerResponse[]} */
  const growing = []
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600')
    if (!request.url?.startsWith('/large')) return response.end(PAGE)
    response.write(LARGE.repeat(2))
    growing.push(response)
  }, { maxSizeBytes: MAX_SIZE_BYTES, edits: [NO_MEMORY] })
  // Main has nearly all the room.
  const used = COLD.slice(0, 330)
  await statusesOf(edge, [...used, ...used, ...COLD.slice(400, 600)])
  const large = edge.get('/large')
  assert.ok(await waitUntil(() => growing.length === 1, WAIT_MAX_MS), edge.errors())
  await statusesOf(edge, COLD.slice(600, 700))
  growing[0].end(LARGE.repeat(2))
  assert.equal((await large).body.length, 4 * LARGE.length)
  assert.equal((await edge.get('/large')).cache, 'HIT')
})

test('a body that looks like stored heads is evicted as any other, after a restart, too', async (t) => {
  const hostile = Buffer.concat([Buffer.from('shd1'), Buffer.alloc(90_000), Buffer.from('shd1'), Buffer.alloc(9_000, 1)])
  const edge = await startEdge(t, (request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').end(request.url?.startsWith('/hostile') ? hostile : PAGE)
  }, { maxSizeBytes: MAX_SIZE_BYTES, edits: [NO_MEMORY] })
  for (let number = 0; number < 5; number++) assert.equal((await edge.get(`/hostile/${number}`)).cache, 'MISS')
  const current = path.join(edge.directory, 'answers', 'current')
  assert.ok(await waitUntil(() => existsSync(current), WAIT_MAX_MS), edge.errors())
  await edge.restart()
  assert.deepEqual(await statusesOf(edge, COLD), { MISS: COLD.length })
  assert.equal((await edge.get('/hostile/0')).cache, 'MISS')
})

test('eviction ends when large bodies are older than their heads, and all of them were used', async (t) => {
  const [bytes, begun] = [940_000, 200_000]
  /** @type {import('node:http').ServerResponse[]} */
  const growing = []
  const edge = await startEdge(t, ({ url }, response) => {
    response.setHeader('Cache-Control', 'max-age=3600')
    if (!url?.startsWith('/large')) return response.end(PAGE)
    response.write('y'.repeat(begun))
    growing.push(response)
    // The files of all are there before the first head.
    if (growing.length === 4) for (const each of growing) each.end('y'.repeat(bytes - begun))
  }, { maxSizeBytes: 4_000_000, workers: 1 })
  const large = [0, 1, 2, 3].map((number) => `/large/${number}`)
  await Promise.all(large.map((url) => edge.get(url)))
  assert.deepEqual(await statusesOf(edge, [...large, ...large]), { HIT: 8 })
  assert.deepEqual(await statusesOf(edge, COLD.slice(0, 200)), { MISS: 200 })
  assert.deepEqual(await statusesOf(edge, COLD.slice(199, 200)), { HIT: 1 })
})
