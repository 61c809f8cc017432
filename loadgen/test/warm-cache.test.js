import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { purgeAndProveCold } from '../src/lab/cold.js'
import { warmCache } from '../src/lab/warm-cache.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {http.RequestListener} answer
 * @returns {Promise<string>} the server's URL
 */
async function listen (t, answer) {
  const server = http.createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

describe('the warm-up of a cache', () => {
  /**
   * Starts a cache that answers each page with these statuses in turn, then with the last one again.
   * @param {import('node:test').TestContext} t
   * @param {string[]} statuses
   */
  async function startCache (t, statuses) {
    /** @type {Map<string, number>} */
    const asked = new Map()
    const url = await listen(t, ({ url = '' }, response) => {
      const times = asked.get(url) ?? 0
      asked.set(url, times + 1)
      response.writeHead(200, { 'x-cache-status': statuses[Math.min(times, statuses.length - 1)] }).end()
    })
    return { url, asked }
  }

  test('reads ten pages ten times each while copies are fresh', async (t) => {
    const { url, asked } = await startCache(t, ['MISS', 'HIT'])
    assert.deepEqual(await warmCache({ url, lifetimeS: 600 }), { requests: 100, origin_requests: 10 })
    assert.deepEqual([...asked.values()], Array.from({ length: 10 }, () => 10))
  })

  test('reads a page no more once it is no hit, and counts that the cache renews it', async (t) => {
    const { url } = await startCache(t, ['MISS', 'HIT', 'HIT', 'UPDATING', 'HIT'])
    assert.deepEqual(await warmCache({ url, lifetimeS: 600 }), { requests: 40, origin_requests: 20 })
  })

  test('begins no read that would end after the lifetime', async (t) => {
    const { url } = await startCache(t, ['MISS', 'HIT'])
    assert.deepEqual(await warmCache({ url, lifetimeS: 0 }), { requests: 10, origin_requests: 10 })
  })

  test('is given up at an interrupt, though the origin does not answer', async (t) => {
    let waiting = 0
    const url = await listen(t, () => { waiting += 1 })
    const interrupt = new AbortController()
    const warming = warmCache({ url, lifetimeS: 600, signal: interrupt.signal })
    const refused = assert.rejects(warming, { name: 'AbortError' })
    assert.ok(await waitUntil(() => waiting === 10, 60_000))
    interrupt.abort()
    await refused
  })

  test('is counted to the end before the cold proof goes on, also what the cache renews later', async (t) => {
    // Before the proof, after its first two reads, twice after the warm-up, and after the last read.
    const counts = [0, 1, 15, 5, 1]
    const wikiUrl = await listen(t, (_, response) => {
      const requests = counts.shift()
      response.end(JSON.stringify({ requests, reads: requests, writes: 0 }))
    })
    const { url } = await startCache(t, ['MISS', 'HIT', 'MISS'])
    const proof = await purgeAndProveCold({
      door: /** @type {any} */ ({ url }),
      stores: true,
      controls: {},
      wikiUrls: [wikiUrl],
      warmCache: async () => ({ requests: 40, origin_requests: 20 })
    })
    assert.deepEqual(proof, {
      cold: true,
      observed: ['MISS', 'HIT', 'MISS'],
      origin_requests: 2,
      warm_up: { requests: 40, origin_requests: 20 },
      sentEach: [43]
    })
  })
})
