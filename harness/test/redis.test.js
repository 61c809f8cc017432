import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { createClient } from '@redis/client'
import { isAlive, waitUntil } from '../src/processes.js'
import { newRedisPassword, redisUrl, removeKeys, startRedis, startRedisGroup } from '../src/redis.js'

const WAIT_MAX_MS = 60_000

/**
 * @param {import('node:test').TestContext} t
 * @param {string} url
 */
async function connect (t, url) {
  const client = createClient({ url, socket: { reconnectStrategy: false } }).on('error', () => {})
  await client.connect()
  t.after(() => { if (client.isOpen) client.destroy() })
  return client
}

test('a Redis listens on loopback, takes its password, forgets at a kill, and leaves nothing', async (t) => {
  const password = newRedisPassword()
  const redis = await startRedis({ password, maxmemoryMib: 8, unixSocket: true })
  t.after(redis.stop)
  const client = await connect(t, redis.url)
  assert.deepEqual({ ...await client.configGet(['bind', 'maxmemory', 'maxmemory-policy', 'save', 'appendonly']) }, {
    bind: '127.0.0.1',
    maxmemory: String(8 * 2 ** 20),
    'maxmemory-policy': 'volatile-lru',
    save: '',
    appendonly: 'no'
  })
  await client.set('key', 'value')
  await assert.rejects(connect(t, redisUrl({ port: redis.port })), /NOAUTH/)
  const socket = String(redis.socket)
  assert.equal(statSync(socket).mode & 0o777, 0o700)
  const arguments_ = readFileSync(`/proc/${redis.identity().pid}/cmdline`, 'utf8')
  assert.ok(!arguments_.includes(password))

  await redis.kill()
  assert.ok(!isAlive(redis.identity()))
  await redis.start()
  assert.equal(await (await connect(t, redis.url)).get('key'), null)
  await redis.stop()
  assert.ok(!isAlive(redis.identity()))
  assert.ok(!existsSync(path.dirname(socket)))
})

test('keys of a pattern are removed, however many, and no others', async (t) => {
  const redis = await startRedis({ password: newRedisPassword() })
  t.after(redis.stop)
  const client = await connect(t, redis.url)
  await client.mSet(Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`old:${index}`, 'x'])))
  await client.set('other:1', 'kept')
  await removeKeys(redis.url, 'old:*')
  assert.deepEqual(await client.keys('*'), ['other:1'])
})

test('with appendonly a killed Redis has its data again', async (t) => {
  const redis = await startRedis({ appendonly: true })
  t.after(redis.stop)
  const client = await connect(t, redis.url)
  await client.set('key', 'value')
  // A kill of the process leaves what the kernel has; no wait for the disk.
  await redis.kill()
  await redis.start()
  assert.equal(await (await connect(t, redis.url)).get('key'), 'value')
})

test('a password that would need quotes in the configuration is refused', async () => {
  await assert.rejects(startRedis({ password: 'a"\nrename-command x' }), /letters, digits/)
})

test('sentinels promote the replica after the death of the master', async (t) => {
  const group = await startRedisGroup({ sentinels: 3, password: newRedisPassword() })
  t.after(group.stop)
  assert.match(group.url, /^redis-sentinel:\/\/:\w+@127\.0\.0\.1:\d+,127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\/0#stevec$/)
  const before = await connect(t, group.master.url)
  await before.set('key', 'value')
  assert.equal(await before.sendCommand(['WAIT', '1', '10000']), 1)
  assert.equal(await group.masterPort(), group.master.port)

  await group.master.kill()
  assert.ok(await waitUntil(async () => await group.masterPort() === group.replica.port, WAIT_MAX_MS))
  // Sentinels close the connections of a server whose role they change.
  assert.ok(await waitUntil(async () => {
    const after = await connect(t, group.replica.url)
    return await after.get('key') === 'value' && await after.set('key', 'newer').then(() => true, () => false)
  }, WAIT_MAX_MS, 200))
})
