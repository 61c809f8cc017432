import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAnalytics } from '../src/cloudflare/analytics.js'
import { createClient } from '../src/cloudflare/client.js'
import { CloudflareError } from '../src/cloudflare/error.js'
import { startFake, TOKEN } from './fake/cloudflare.js'

const STATUSES = ['hit', 'miss', 'bypass', 'dynamic']
const WINDOWS_PER_QUERY = 10

/** @param {number} minute @param {string[]} hosts */
const windowOf = (minute, hosts) =>
  ({ from: `2026-03-01T10:0${minute}:00.000Z`, to: `2026-03-01T10:0${minute}:59.000Z`, hosts })

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const fake = await startFake(t)
  const client = createClient({ token: TOKEN, apiUrl: fake.url, pauseMs: 1, timeoutMs: 10_000 })
  /** @param {number} minute @param {string} host @param {string} cacheStatus */
  const count = (minute, host, cacheStatus, requests = 1) => {
    const request = { zone: fake.zone.id, host, at: `2026-03-01T10:0${minute}:30.000Z`, cacheStatus, bytes: 100 }
    for (let number = 0; number < requests; number++) fake.traffic.push(request)
  }
  return { fake, client, count, zoneId: fake.zone.id }
}

test('windows with more groups than one response holds are read completely and stay in order', async (t) => {
  const { fake, client, count, zoneId } = await start(t)
  const hosts = Array.from({ length: 60 }, (_host, index) => `h${index}.example.com`)
  // Windows with 60 hosts alternate with windows with one host.
  const windows = [0, 1, 2, 3, 4].map((minute) => windowOf(minute, minute % 2 === 0 ? hosts : hosts.slice(0, 1)))
  for (const [minute, window] of windows.entries()) {
    for (const host of window.hosts) for (const status of STATUSES) count(minute, host, status, minute + 1)
  }
  const results = await readAnalytics(client, zoneId, windows)
  assert.equal(results.length, windows.length)
  for (const [minute, groups] of results.entries()) {
    const found = groups.map(({ host, cache_status: status, requests }) => `${host} ${status} ${requests}`)
    const expected = windows[minute].hosts.flatMap((host) =>
      STATUSES.map((status) => `${host} ${status.toUpperCase()} ${minute + 1}`))
    assert.deepEqual(found.sort(), expected.sort(), `window ${minute}`)
  }
  const sizes = fake.requests.map(({ body }) => body.query.match(/httpRequestsAdaptiveGroups/g).length)
  assert.ok(Math.max(...sizes) <= WINDOWS_PER_QUERY, `windows per query: ${sizes}`)
  assert.equal(sizes.reduce((sum, size) => sum + size, 0), 5 + 3 * (2 + 4), 'only incomplete windows are queried again')
})

test('a host that is listed twice is counted once', async (t) => {
  const { client, count, zoneId } = await start(t)
  const hosts = Array.from({ length: 25 }, (_host, index) => `h${index}.example.com`)
  for (const host of hosts) for (const status of STATUSES) count(0, host, status)
  const [groups] = await readAnalytics(client, zoneId, [windowOf(0, [...hosts, ...hosts])])
  assert.equal(groups.length, 100)
})

test('more groups of one host than a response holds are an error, not a partial result', async (t) => {
  const { client, count, zoneId } = await start(t)
  for (let number = 0; number < 120; number++) count(0, 'a.example.com', `status${number}`)
  count(0, 'b.example.com', 'hit')
  await assert.rejects(readAnalytics(client, zoneId, [windowOf(0, ['a.example.com', 'b.example.com'])]), (error) => {
    assert.ok(error instanceof CloudflareError && error.kind === 'refused')
    assert.match(error.message, /^read the analytics: a\.example\.com has 100 groups or more from 2026-03-01T10:00:00/)
    return true
  })
})
