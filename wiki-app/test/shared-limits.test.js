import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createClient } from '@redis/client'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { newRedisPassword, startRedis, startRedisGroup } from '@stevec/harness/redis'
import { NAME_MAX_CHARS } from '../src/access/users.js'
import { parseRedisUrl, shownAddress } from '../src/shared/address.js'
import { createSharedRedis, RedisAway } from '../src/shared/connection.js'
import { createLog, get, save, useWiki } from './helper.js'
import { PASSWORD, peopleOnly, post } from './people.js'

const WAIT_MAX_MS = 60_000
const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @param {App} app */
const write = async (app, name = 'a') => (await save(app, name, String(Math.random()))).statusCode

/** @param {App} app @param {string} [address] @param {string} [name] */
const guess = async (app, address = '192.0.2.1', name = 'editor', password = 'wrong') =>
  (await post(app, '/edit/sign-in', { name, password }, {}, address)).statusCode

/** @param {Record<string, any>[]} lines @param {RegExp} message */
const until = (lines, message) => waitUntil(() => lines.some(({ msg }) => message.test(msg)), WAIT_MAX_MS)

const AWAY = /^Redis is away: until it answers, each process keeps its own limits$/
const BACK = /^Redis answers again/

describe('two wikis with one Redis', () => {
  const password = newRedisPassword()
  /** @type {import('@stevec/harness/redis').Redis} */
  let redis
  before(async () => { redis = await startRedis({ password }) })
  after(() => redis.stop())

  /** @param {import('node:test').TestContext} t @param {Record<string, string>} [more] */
  async function twoWikis (t, more = {}) {
    const { lines, logTo } = createLog()
    const settings = { MONGODB_URI: wiki.freshUri(), REDIS_URL: redis.url, ...more }
    const client = createClient({ url: redis.url }).on('error', () => {})
    await client.connect()
    t.after(() => client.destroy())
    await client.flushDb()
    return {
      lines,
      client,
      one: await wiki.build(t, settings, {}, { logTo }),
      other: await wiki.build(t, settings, {}, { logTo })
    }
  }

  test('count writes together, with the same answers as one wiki', async (t) => {
    const { one, other, client } = await twoWikis(t, { WRITES_PER_MINUTE: '4' })
    assert.deepEqual([await write(one), await write(other), await write(one), await write(other)], [201, 200, 200, 200])
    for (const app of [one, other]) {
      const refused = await save(app, 'a', 'too much')
      assert.equal(refused.statusCode, 429)
      assert.match(refused.json().detail, /^More than 4 changes within a minute came from your address/)
      const retryAfterS = Number(refused.headers['retry-after'])
      assert.ok(retryAfterS >= 1 && retryAfterS <= 60, String(retryAfterS))
      assert.equal((await get(app, '/wiki/a')).statusCode, 200)
    }
    const preview = { method: /** @type {const} */ ('POST'), url: '/edit/preview/a', payload: { content: 'x' } }
    assert.equal((await one.inject(preview)).statusCode, 200, 'previews have a limit of their own')

    const keys = await client.keys('stevec:limit:*')
    assert.equal(keys.length, 2)
    for (const key of keys) {
      assert.match(key, /^stevec:limit:(write|preview):[\w-]{22}$/)
      const leftMs = await client.pTTL(key)
      assert.ok(leftMs > 0 && leftMs <= 60_000, String(leftMs))
    }
  })

  test('writes at the same time in both are counted each once', async (t) => {
    const { one, other } = await twoWikis(t, { WRITES_PER_MINUTE: '15' })
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, number) =>
      write(number % 2 ? one : other, `page ${number}`)))
    assert.equal(statuses.filter((status) => status === 201).length, 15)
    assert.equal(statuses.filter((status) => status === 429).length, 25)
  })

  test('count failed sign-ins together, whatever a client sends as a name', async (t) => {
    const { one, other, client } = await twoWikis(t, peopleOnly(t))
    const names = ['editor', '\u0000\r\n*', 'č'.repeat(NAME_MAX_CHARS), '{"$gt":""}', '__proto__']
    for (let failure = 0; failure < 10; failure++) {
      assert.equal(await guess(failure % 2 ? one : other, '192.0.2.1', names[failure % 5]), 401)
    }
    assert.equal(await guess(one, '192.0.2.1', 'editor', PASSWORD), 429)
    assert.equal(await guess(other, '192.0.2.1', 'editor', PASSWORD), 429)
    assert.equal(await guess(other, '192.0.2.2', 'editor', PASSWORD), 303)
    for (const key of await client.keys('stevec:limit:*')) assert.match(key, /^stevec:limit:(write|guesser|name):[\w-]{22}$/)
  })

  test('go on alone while Redis is dead, from the common count, and tell it to the next Redis', async (t) => {
    const { one, other, lines, client } = await twoWikis(t, { WRITES_PER_MINUTE: '4' })
    assert.deepEqual([await write(one), await write(other), await write(one)], [201, 200, 200])
    await redis.kill()
    assert.ok(await until(lines, AWAY))
    assert.equal((await get(one, '/wiki/a')).statusCode, 200)
    assert.equal(await write(one), 200, 'the fourth')
    assert.equal(await write(one), 429)
    assert.equal(await write(other), 200, 'each process has a limit of its own')

    await redis.start()
    assert.ok(await waitUntil(() => lines.filter(({ msg }) => BACK.test(msg)).length === 2, WAIT_MAX_MS))
    assert.equal(await write(one), 429)
    assert.equal(await write(other), 429)
    const counted = createClient({ url: redis.url })
    await counted.connect()
    t.after(() => counted.destroy())
    assert.ok(Number(await counted.get((await counted.keys('stevec:limit:*'))[0])) >= 6)
    assert.ok(lines.filter(({ msg }) => AWAY.test(msg)).length === 2, 'one line for each process')
    assert.doesNotMatch(JSON.stringify(lines), new RegExp(password))
    client.destroy()
    await client.connect()
  })

  test('wait once, and briefly, for a Redis that is silent; the next writes do not', async (t) => {
    const { one, lines } = await twoWikis(t, { WRITES_PER_MINUTE: '100' })
    assert.equal(await write(one), 201)
    const { pid } = redis.identity()
    await pauseProcess(pid)
    try {
      assert.equal(await write(one), 200)
      assert.ok(await until(lines, AWAY))
      assert.equal((await get(one, '/wiki/a')).statusCode, 200)
      const state = lines.find(({ msg }) => AWAY.test(msg))
      assert.match(state?.err, /^no answer within 1000 ms$/)
      for (let more = 0; more < 5; more++) assert.equal(await write(one), 200)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    assert.ok(await until(lines, BACK))
  })

  test('a wrong password of Redis leaves each wiki its own limits, and is in no log', async (t) => {
    const { lines, logTo } = createLog()
    const url = `redis://:hunter2@127.0.0.1:${redis.port}`
    const app = await wiki.build(t, { REDIS_URL: url, WRITES_PER_MINUTE: '1' }, {}, { logTo })
    assert.deepEqual([await write(app), await write(app)], [201, 429])
    assert.match(lines.find(({ msg }) => AWAY.test(msg))?.err, /WRONGPASS/)
    assert.doesNotMatch(JSON.stringify(lines), /hunter2/)
  })
})

test('with sentinels, the limits go on after the death of the master', async (t) => {
  const group = await startRedisGroup({ password: newRedisPassword() })
  t.after(group.stop)
  const { lines, logTo } = createLog()
  const settings = { MONGODB_URI: wiki.freshUri(), REDIS_URL: group.url, WRITES_PER_MINUTE: '4' }
  const one = await wiki.build(t, settings, {}, { logTo })
  const other = await wiki.build(t, settings, {}, { logTo })
  assert.deepEqual([await write(one), await write(other), await write(one)], [201, 200, 200])
  await group.master.kill()
  assert.ok(await waitUntil(async () => await group.masterPort() === group.replica.port, WAIT_MAX_MS))
  // A wiki notices with its next command.
  assert.equal(await write(one), 200)
  assert.ok(await waitUntil(async () => await write(other) === 429 && lines.some(({ msg }) => BACK.test(msg)),
    WAIT_MAX_MS, 200))
  assert.equal(await write(one), 429)
})

test('commands beyond a thousand fail at once while Redis is silent, so that nothing grows', async (t) => {
  const redis = await startRedis()
  t.after(redis.stop)
  const address = /** @type {import('../src/shared/address.js').RedisAddress} */ (parseRedisUrl(redis.url))
  const log = /** @type {any} */ ({ info () {}, warn () {} })
  const shared = createSharedRedis({ address, log, commandMaxMs: 60_000 })
  t.after(shared.close)
  await assert.rejects(shared.run((commands) => commands.ping()), RedisAway)
  await shared.open()
  const { since, ...state } = shared.state()
  assert.ok(since)
  assert.deepEqual(state, { available: true, error: null, failedOverAt: null })
  const { pid } = redis.identity()
  await pauseProcess(pid)
  const waiting = Array.from({ length: 1_000 }, () => shared.run((commands) => commands.ping()))
  await assert.rejects(shared.run((commands) => commands.ping()), RedisAway)
  process.kill(pid, 'SIGCONT')
  assert.equal((await Promise.all(waiting)).length, 1_000)
  await redis.kill()
  assert.ok(await waitUntil(() => !shared.state().available, WAIT_MAX_MS))
  assert.match(String(shared.state().error), /\w/)
})

test('the two forms of REDIS_URL, and what is none', () => {
  const parsed = (/** @type {string} */ url) => parseRedisUrl(url)
  const login = { database: 0, tls: false, name: null }
  assert.deepEqual(parsed('redis://localhost'), { ...login, nodes: [{ host: 'localhost', port: 6379 }] })
  assert.deepEqual(parsed('rediss://me:p%40ss@[::1]:7000/3'), {
    username: 'me', password: 'p@ss', database: 3, tls: true, name: null, nodes: [{ host: '::1', port: 7000 }]
  })
  const group = /** @type {import('../src/shared/address.js').RedisAddress} */ (
    parsed('redis-sentinel://:secret@a:1,b/0#main'))
  assert.deepEqual(group, {
    ...login, password: 'secret', name: 'main', nodes: [{ host: 'a', port: 1 }, { host: 'b', port: 26379 }]
  })
  assert.equal(shownAddress(group), 'main at a:1, b:26379')
  for (const url of [
    '', 'redis://', 'http://localhost', 'redis://a,b', 'redis://a:70000', 'redis://a/x', 'redis://a#main',
    'redis-sentinel://a', 'redis-sentinel://a,#main', 'redis://me:%zz@a', 'redis://a?x=1', 'redis://a b', 'localhost'
  ]) assert.equal(parsed(url), null, url)
})
