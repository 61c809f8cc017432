import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createClient } from '@redis/client'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { newRedisPassword, startRedis, startRedisGroup } from '@stevec/harness/redis'
import { parseRedisUrl } from '../src/shared/address.js'
import { createSharedRedis } from '../src/shared/connection.js'
import { createReadCache } from '../src/shared/read-cache.js'

const WAIT_MAX_MS = 60_000
const log = /** @type {any} */ ({ info () {}, warn () {} })

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * @param {TestContext} t
 * @param {string} url
 * @param {import('../src/shared/connection.js').Details} [details]
 */
async function share (t, url, details) {
  const address = /** @type {import('../src/shared/address.js').RedisAddress} */ (parseRedisUrl(url))
  const redis = createSharedRedis({ address, log, ...details })
  t.after(redis.close)
  return redis
}

/** A database whose reads can be held up. */
function createStore () {
  /** @type {Map<string, string>} */
  const rows = new Map()
  /** @type {(() => void)[]} */
  const held = []
  let reads = 0
  let holds = false
  return {
    rows,
    reads: () => reads,
    held,
    hold (on = true) {
      holds = on
    },
    load: (/** @type {string} */ id) => async () => {
      reads++
      const value = rows.get(id) ?? null
      if (holds) await new Promise((resolve) => held.push(() => resolve(undefined)))
      return value
    }
  }
}

describe('values of the database in Redis', () => {
  /** @type {import('@stevec/harness/redis').Redis} */
  let server
  before(async () => { server = await startRedis() })
  after(() => server.stop())

  /** @param {TestContext} t @param {number} [lifetimeS] */
  async function twoWikis (t, lifetimeS = 3600) {
    const client = createClient({ url: server.url }).on('error', () => {})
    await client.connect()
    t.after(() => client.destroy())
    await client.flushDb()
    const wikiOf = async () => {
      const redis = await share(t, server.url)
      /** @type {import('../src/shared/read-cache.js').ReadCache<string>} */
      const cache = createReadCache({ name: 'test', redis, lifetimeS })
      await redis.open()
      return cache
    }
    const store = createStore()
    return { client, store, one: await wikiOf(), other: await wikiOf() }
  }

  /**
   * @param {import('../src/shared/read-cache.js').ReadCache<string>} cache
   * @param {ReturnType<typeof createStore>} store
   */
  const reading = (cache, store, id = 'a') => cache.read(id, store.load(id))

  /** @param {() => Promise<unknown>} condition */
  const until = async (condition) => assert.ok(await waitUntil(condition, WAIT_MAX_MS))

  test('are read once for all wikis, with a lifetime, until they are forgotten', async (t) => {
    const { client, store, one, other } = await twoWikis(t)
    store.rows.set('a', 'Čebela')
    assert.deepEqual(await Promise.all([reading(one, store), reading(one, store)]), ['Čebela', 'Čebela'])
    await until(async () => (await client.get((await client.keys('*'))[0]))?.startsWith('='))
    assert.equal(await reading(other, store), 'Čebela')
    assert.equal(store.reads(), 1)
    assert.deepEqual([one.counts(), other.counts()],
      [{ hits: 0, misses: 1, without: 0 }, { hits: 1, misses: 0, without: 0 }])
    const [key] = await client.keys('*')
    assert.match(key, /^stevec:test:[\w-]{22}$/)
    assert.ok(await client.ttl(key) > 3500)

    store.rows.set('a', 'Roj')
    await other.forget(['a'])
    assert.equal(await reading(one, store), 'Roj')
  })

  test('that do not exist are not kept, and leave no key', async (t) => {
    const { client, store, one } = await twoWikis(t)
    for (const id of ['x', '\r\nFLUSHALL', 'x'.repeat(100_000)]) assert.equal(await reading(one, store, id), null)
    await until(async () => (await client.dbSize()) === 0)
  })

  test('end with their lifetime', async (t) => {
    const { client, store, one } = await twoWikis(t, 1)
    store.rows.set('a', '1')
    await reading(one, store)
    await until(async () => (await client.keys('*')).length === 1)
    await until(async () => (await client.keys('*')).length === 0)
  })

  test('read before a commit are not kept after it, in whatever order readers and writer come', async (t) => {
    const { client, store, one, other } = await twoWikis(t)
    store.rows.set('a', 'old')
    store.hold()
    const before = reading(one, store)
    await until(async () => store.held.length === 1)
    store.rows.set('a', 'new')
    await other.forget(['a'])
    // A second reader begins after the commit, and ends before the first.
    store.hold(false)
    assert.equal(await reading(other, store), 'new')
    await until(async () => (await client.get((await client.keys('*'))[0])) === '="new"')
    store.held[0]()
    assert.equal(await before, 'old', 'it had begun before the commit')
    // Its refused attempt is on the same connection before the next command.
    await one.read('b', store.load('b'))
    assert.equal(await reading(one, store), 'new')
    assert.equal(await client.get((await client.keys('*'))[0]), '="new"')
  })

  test('a reader in the wiki of the writer does not get what was read before the commit', async (t) => {
    const { store, one } = await twoWikis(t)
    store.rows.set('a', 'old')
    store.hold()
    const before = reading(one, store)
    await until(async () => store.held.length === 1)
    store.rows.set('a', 'new')
    await one.forget(['a'])
    store.hold(false)
    assert.equal(await reading(one, store), 'new')
    store.held[0]()
    await before
    assert.equal(await reading(one, store), 'new')
  })

  test('a hundred edits at once with readers everywhere leave no old value', async (t) => {
    const { store, one, other } = await twoWikis(t)
    store.rows.set('a', '0')
    const edits = { acknowledged: 0 }
    const readers = [one, other, one, other].map(async (cache) => {
      while (edits.acknowledged < 100) {
        const { acknowledged } = edits
        const value = Number(await reading(cache, store))
        assert.ok(value >= acknowledged, `${value} was read after ${acknowledged} was acknowledged`)
      }
    })
    for (let edit = 1; edit <= 100; edit++) {
      store.rows.set('a', String(edit))
      await (edit % 2 ? one : other).forget(['a'])
      edits.acknowledged = edit
    }
    await Promise.all(readers)
    assert.deepEqual([await reading(one, store), await reading(other, store)], ['100', '100'])
  })

  test('come from the database while Redis is dead, and what was forgotten meanwhile stays so', async (t) => {
    const persistent = await startRedis({ appendonly: true })
    t.after(persistent.stop)
    const redis = await share(t, persistent.url)
    /** @type {import('../src/shared/read-cache.js').ReadCache<string>} */
    const cache = createReadCache({ name: 'test', redis, lifetimeS: 3600 })
    await redis.open()
    const store = createStore()
    store.rows.set('a', 'old')
    await reading(cache, store)
    await until(async () => await reading(cache, store) === 'old' && cache.counts().hits > 0)
    await persistent.kill()
    assert.equal(await reading(cache, store), 'old')
    store.rows.set('a', 'new')
    await cache.forget(['a'])
    assert.equal(await reading(cache, store), 'new')
    assert.ok(cache.counts().without >= 1)
    await persistent.start()
    await until(async () => redis.state().available)
    assert.equal(await reading(cache, store), 'new')
  })

  test('a silent Redis holds a reader up for a quarter of a second, and after one second nobody', async (t) => {
    const { store, one } = await twoWikis(t)
    store.rows.set('a', '1')
    assert.equal(await reading(one, store), '1')
    const { pid } = server.identity()
    await pauseProcess(pid)
    try {
      await until(async () => {
        assert.equal(await reading(one, store), '1')
        const startedMs = performance.now()
        await reading(one, store)
        return performance.now() - startedMs < 50
      })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })
})

test('reads are the replica\'s, and go on through the deaths of replica, sentinel and master', async (t) => {
  const group = await startRedisGroup({ password: newRedisPassword(), sentinels: 3 })
  t.after(group.stop)
  const redis = await share(t, group.url)
  const replica = await share(t, group.url, { replicas: true })
  /** @type {import('../src/shared/read-cache.js').ReadCache<string>} */
  const cache = createReadCache({ name: 'test', redis, replica, lifetimeS: 3600 })
  await Promise.all([redis.open(), replica.open()])
  const store = createStore()
  const read = async (/** @type {string} */ id) => assert.equal(await cache.read(id, store.load(id)), `page ${id}`)
  const hitSoon = async (/** @type {string} */ id) => assert.ok(await waitUntil(async () => {
    const before = cache.counts().hits
    await read(id)
    return cache.counts().hits > before
  }, WAIT_MAX_MS))
  for (const id of 'abcd') store.rows.set(id, `page ${id}`)
  const client = createClient({ url: group.replica.url }).on('error', () => {})
  await client.connect()
  t.after(() => { if (client.isOpen) client.destroy() })
  await read('a')
  assert.ok(await waitUntil(async () => (await client.keys('stevec:test:*')).length === 1, WAIT_MAX_MS))
  await client.configResetStat()
  await hitSoon('a')
  assert.match(await client.info('commandstats'), /cmdstat_get:calls=[1-9]/)

  await group.sentinels[0].kill()
  await group.master.kill()
  // Reads go on from the database meanwhile; then the replica is the master, and keeps values again.
  for (const id of 'abcd') await read(id)
  assert.ok(await waitUntil(async () => await group.masterPort() === group.replica.port, WAIT_MAX_MS))
  await hitSoon('b')
  store.rows.set('a', 'page a')
  await cache.forget(['a'])
  await hitSoon('a')
})
