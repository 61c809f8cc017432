import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { startRedis } from '@stevec/harness/redis'
import { parseRedisUrl } from '../src/shared/address.js'
import { createSharedRedis } from '../src/shared/connection.js'
import { createPresence } from '../src/shared/presence.js'
import { get, readMetrics, useWiki } from './helper.js'

const WAIT_MAX_MS = 60_000
const wiki = useWiki()

/** @param {import('fastify').FastifyInstance} app */
const wikisAt = async (app) => (await get(app, '/wiki/stevec')).headers['counter-wikis']

test('the counter of a wiki with Redis says how many wikis there are; without it says nothing', async (t) => {
  const redis = await startRedis()
  t.after(redis.stop)
  const alone = await wiki.build(t)
  const [port] = await freePorts(1)
  const app = await wiki.build(t, { REDIS_URL: redis.url, METRICS_PORT: String(port) })
  const isUp = async () => /^wiki_redis_up (\d)$/m.exec((await readMetrics(port)).text)?.[1]
  assert.equal(await wikisAt(alone), undefined)
  assert.equal(await wikisAt(app), '1')
  assert.equal(await isUp(), '1')
  await redis.kill()
  assert.ok(await waitUntil(async () => await wikisAt(app) === undefined, WAIT_MAX_MS))
  assert.equal(await isUp(), '0')
  await redis.start()
  assert.ok(await waitUntil(async () => await wikisAt(app) === '1', WAIT_MAX_MS))
})

test('wikis come and go: one that stops leaves at once, one that dies after its time', async (t) => {
  const server = await startRedis()
  t.after(server.stop)
  const address = /** @type {import('../src/shared/address.js').RedisAddress} */ (parseRedisUrl(server.url))
  const log = /** @type {any} */ ({ info () {}, warn () {} })
  const join = async (/** @type {string} */ id) => {
    const redis = createSharedRedis({ address, log })
    await redis.open()
    t.after(redis.close)
    const presence = createPresence({ redis, id, intervalMs: 100, silentMaxS: 2 })
    await presence.open()
    t.after(presence.close)
    return { presence, redis }
  }
  const [one, other, third] = [await join('one'), await join('other'), await join('third')]
  const seen = (/** @type {number} */ count) => waitUntil(() => one.presence.count() === count, WAIT_MAX_MS)
  assert.ok(await seen(3))
  await other.presence.close()
  assert.ok(await seen(2))
  await third.redis.close()
  assert.ok(await seen(1))
  assert.equal(third.presence.count(), null)
  await join('other')
  assert.ok(await seen(2))
})
