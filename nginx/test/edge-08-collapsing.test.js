import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { waitUntil } from '../../loadgen/src/stack/processes.js'
import { startEdge } from './edge-helper.js'

const ORIGIN_MS = 50
/** Twenty answers of a 50 ms origin, on a machine with other work: a wait that polls every 500 ms or a queue takes longer. The benchmark is stricter. */
const ALL_MS = 450

/** @param {Awaited<ReturnType<typeof startEdge>>} edge @param {string} url */
async function twenty (edge, url, headers = {}) {
  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => edge.get(url, headers)))
  return { answers, durationMs: performance.now() - startedAt }
}

for (const [what, headers] of /** @type {[string, Record<string, string>][]} */ ([['GETs', {}], ['GETs with a condition', { 'if-none-match': '"x"' }]])) {
  test(`simultaneous cold ${what} of one URL make one fetch and are answered when it arrives`, async (t) => {
    const edge = await startEdge(t, (_request, response) => setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end('body'), ORIGIN_MS))
    const { answers, durationMs } = await twenty(edge, '/', headers)
    assert.equal(edge.reached('/'), 1)
    assert.deepEqual(answers.map(({ cache }) => cache).sort(), [...Array(19).fill('HIT'), 'MISS'])
    assert.ok(durationMs < ALL_MS, `${durationMs} ms`)
  })
}

test('also large ones', async (t) => {
  const body = 'x'.repeat(300_000)
  const edge = await startEdge(t, (_request, response) => setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end(body), ORIGIN_MS))
  const { answers } = await twenty(edge, '/')
  assert.equal(edge.reached('/'), 1)
  assert.ok(answers.every((answer) => answer.body === body))
})

test('answers that cannot be shared do not queue', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => setTimeout(() => response.setHeader('Cache-Control', 'private').end(`body ${count}`), ORIGIN_MS))
  const first = await twenty(edge, '/')
  assert.equal(new Set(first.answers.map(({ body }) => body)).size, 20)
  assert.ok(first.durationMs < ALL_MS, `${first.durationMs} ms`)
  const second = await twenty(edge, '/')
  assert.ok(second.durationMs < ALL_MS, `${second.durationMs} ms`)
  assert.equal(edge.reached('/'), 40)
})

test('a failed fetch fails all who waited for it, once', async (t) => {
  const edge = await startEdge(t, (request) => setTimeout(() => request.socket.destroy(), ORIGIN_MS))
  const { answers, durationMs } = await twenty(edge, '/')
  assert.ok(answers.every(({ status }) => status === 502))
  assert.ok(durationMs < ALL_MS, `${durationMs} ms`)
  assert.equal(edge.reached('/'), 1)
})

test('a client that goes away does not stop the fetch that others wait for', async (t) => {
  const edge = await startEdge(t, (_request, response) => setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end('body'), 300))
  const leaving = http.get({ host: '127.0.0.1', port: edge.port, path: '/', agent: false })
  leaving.on('error', () => {})
  await waitUntil(() => edge.reached('/') === 1, 5_000, 5)
  const waiting = edge.get('/')
  leaving.destroy()
  assert.equal((await waiting).body, 'body')
  assert.equal(edge.reached('/'), 1)
})

test('a request that starts after a purge does not wait for a fetch from before it', async (t) => {
  const edge = await startEdge(t, (_request, response, count) => setTimeout(() => response.setHeader('Cache-Control', 'max-age=60').end(`body ${count}`), 200))
  const before = edge.get('/')
  await waitUntil(() => edge.reached('/') === 1, 5_000, 5)
  await edge.purge({ purge_everything: true })
  const after = edge.get('/')
  assert.deepEqual([(await before).body, (await after).body], ['body 1', 'body 2'])
  assert.equal((await edge.get('/')).body, 'body 2')
})
