import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@redis/client'
import { createPurgeOf } from '@stevec/cdn/wiki'
import { waitUntil } from '@stevec/harness/processes'
import { startRedis } from '@stevec/harness/redis'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { createTestbed } from '../torture/testbed.js'
import { get, save, useWiki } from './helper.js'

const WAIT_MAX_MS = 60_000
const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @param {App} app @param {string} page @param {string} id */
async function choose (app, page, id) {
  const { statusCode } = await app.inject({ method: 'PUT', url: `/api/v1/short-links/${id}`, payload: { page } })
  assert.equal(statusCode, 201)
}

/** @param {App} app @param {string} page @param {string} to */
async function rename (app, page, to) {
  const { statusCode } = await app.inject({ method: 'POST', url: `/api/v1/pages/${page}/rename`, payload: { to } })
  assert.equal(statusCode, 201)
}

/** @param {App} app @param {string} id */
const target = async (app, id) => (await get(app, `/s/${id}`)).headers.location

test('copies in Redis are common to wikis, follow a renaming, and are not needed', async (t) => {
  const redis = await startRedis({ appendonly: true })
  t.after(redis.stop)
  const settings = { MONGODB_URI: wiki.freshUri(), REDIS_URL: redis.url, SHORT_LINK_READS: 'redis' }
  const [one, other] = [await wiki.build(t, settings), await wiki.build(t, settings)]
  await save(one, 'A', 'text')
  await choose(one, 'A', 'aa')
  const connect = async () => {
    const client = createClient({ url: redis.url }).on('error', () => {})
    await client.connect()
    t.after(() => { if (client.isOpen) client.destroy() })
    return client
  }
  const client = await connect()
  assert.equal(await target(one, 'aa'), '/wiki/A')
  const [key] = await client.keys('stevec:short-link:*')
  const copyOf = (/** @type {string} */ page) => `={"page":"${page}","revision":null}`
  assert.ok(await waitUntil(async () => await client.get(key) === copyOf('A'), WAIT_MAX_MS))
  // A link that is in Redis alone shows where the wiki reads.
  await client.set(key, copyOf('From Redis'))
  assert.equal(await target(other, 'aa'), '/wiki/From%20Redis')
  assert.equal((await get(other, '/s/none')).statusCode, 404)

  await rename(other, 'A', 'B')
  assert.deepEqual([await target(one, 'aa'), await target(other, 'aa')], ['/wiki/B', '/wiki/B'])
  assert.ok(await waitUntil(async () => await client.get(key) === copyOf('B'), WAIT_MAX_MS))
  client.destroy()
  await redis.kill()
  assert.deepEqual([await target(one, 'aa'), await target(other, 'aa')], ['/wiki/B', '/wiki/B'])
  await rename(one, 'B', 'C')
  assert.deepEqual([await target(one, 'aa'), await target(other, 'aa')], ['/wiki/C', '/wiki/C'])
  // It comes back with the copy of before, which the wiki that has renamed removes.
  await redis.start()
  const again = await connect()
  assert.ok(await waitUntil(async () => {
    await target(other, 'aa')
    return await again.get(key) === copyOf('C')
  }, WAIT_MAX_MS))
  assert.deepEqual([await target(one, 'aa'), await target(other, 'aa')], ['/wiki/C', '/wiki/C'])
})

for (const policy of ['purge-url', 'purge-tag']) {
  test(`with ${policy}, the edge keeps a short address until its page is renamed; the counter agrees`, async (t) => {
    const publicUrl = 'http://wiki.example'
    /** @type {(stale: any) => Promise<void>} */
    let purge = async () => {}
    const app = await wiki.build(t, {
      CACHE_POLICY: policy, PURGE_ZONE: 'zone', PURGE_TOKEN: 'token-in-the-environment', PUBLIC_URL: publicUrl
    }, { purge: (stale) => purge(stale) })
    const edge = await startEdge(t, app.server)
    const { url: apiUrl, token } = edge.control
    purge = await createPurgeOf({ apiUrl, token, zoneId: 'zone', publicUrl })
    await save(app, 'A', 'text')
    await choose(app, 'A', 'aa')
    const ask = async (path = '/s/aa', method = 'GET') => {
      const { status, headers } = await edge.get(path, { host: 'wiki.example' }, method)
      return { status, location: headers.location, cache: headers['cf-cache-status'] }
    }
    const count = async () => (await get(app, '/api/v1/counter')).json().count.requests
    const before = await count()
    const answers = [await ask(), await ask(), await ask('/s/aa', 'HEAD'), await ask('/s/none'), await ask('/s/none')]
    assert.deepEqual(answers.map(({ status, location }) => [status, location]),
      [[302, '/wiki/A'], [302, '/wiki/A'], [302, '/wiki/A'], [404, undefined], [404, undefined]])
    assert.deepEqual(answers.map(({ cache }) => cache).slice(0, 3), ['MISS', 'HIT', 'HIT'])
    assert.equal(await count() - before, answers.filter(({ cache }) => cache !== 'HIT').length)

    await save(app, 'A', 'an edit is no reason to forget it')
    await rename(app, 'A', 'B')
    assert.ok(await waitUntil(async () => (await ask()).location === '/wiki/B', WAIT_MAX_MS))
  })
}

test('three processes make one short address of a page', async (t) => {
  const testbed = await createTestbed({ settings: { WORKERS: '3', WRITES_PER_MINUTE: '0' } })
  t.after(() => testbed.remove())
  await testbed.start()
  const send = (/** @type {string} */ path, /** @type {object} */ body, method = 'POST') => fetch(testbed.url + path, {
    method, headers: { 'content-type': 'application/json', connection: 'close' }, body: JSON.stringify(body)
  })
  for (const page of ['A', 'B', 'C']) {
    assert.equal((await send(`/api/v1/pages/${page}`, { content: 'text' }, 'PUT')).status, 201)
    const answers = await Promise.all(Array.from({ length: 12 }, () => send('/api/v1/short-links', { page })))
    const links = await Promise.all(answers.map((answer) => answer.json()))
    assert.equal(new Set(links.map(({ id }) => id)).size, 1, JSON.stringify(links))
    assert.equal(answers.filter(({ status }) => status === 201).length, 1)
    const redirect = await fetch(`${testbed.url}/s/${links[0].id}`, { redirect: 'manual' })
    assert.deepEqual([redirect.status, redirect.headers.get('location')], [302, `/wiki/${page}`])
  }
})
