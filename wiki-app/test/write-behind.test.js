import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import mongoose from 'mongoose'
import { createClient } from '@redis/client'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { newRedisPassword, startRedis } from '@stevec/harness/redis'
import { readConfig } from '../src/config.js'
import { createLease } from '../src/deferred/lease.js'
import { bufferKeys } from '../src/deferred/redis-buffer.js'
import { parseRedisUrl } from '../src/shared/address.js'
import { createSharedRedis } from '../src/shared/connection.js'
import { createTestbed } from '../torture/testbed.js'
import { createLog, get, hold, save, submit, useWiki } from './helper.js'
import { accepted, settled } from './saves.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const STRATEGY = { WRITE_STRATEGY: 'unsafe-write-behind' }
const wiki = useWiki()
const password = newRedisPassword()
/** @type {import('@stevec/harness/redis').Redis} */
let redis
before(async () => { redis = await startRedis({ password }) })
after(() => redis.stop())

/** @param {TestContext} t @param {string} [uri] */
async function place (t, uri = wiki.freshUri()) {
  const mongo = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => mongo.close())
  const client = await createClient({ url: redis.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  const db = mongo.db()
  const settings = { ...STRATEGY, MONGODB_URI: uri, REDIS_URL: redis.url }
  return { db, client, keys: bufferKeys(db.databaseName), settings }
}

/** @param {TestContext} t @param {Record<string, string>} [more] */
async function build (t, more = {}) {
  const around = await place(t)
  const { lines, logTo } = createLog()
  return { ...around, lines, app: await wiki.build(t, { ...around.settings, ...more }, {}, { logTo }) }
}

/** @param {import('mongodb').Db} db @param {string} page @returns {Promise<string[]>} its texts, oldest first */
const textsOf = async (db, page) =>
  (await db.collection('revisions').find({ page }).sort({ revision: 1 }).toArray()).map(({ content }) => content)

test('without a Redis the wiki does not start, and says what to do', () => {
  assert.throws(() => readConfig(STRATEGY), {
    message: 'WRITE_STRATEGY=unsafe-write-behind is not allowed without REDIS_URL, where saves wait until they are ' +
      'stored: set it, or choose another WRITE_STRATEGY'
  })
})

test('a save is acknowledged by Redis, pending at any process, and stored afterwards', async (t) => {
  const { app, db, client, keys, settings } = await build(t)
  const other = await wiki.build(t, settings)
  const release = await hold(t, db)
  const first = await accepted(app, 'News', 'Snow.')
  const second = await accepted(other, 'News', 'More snow.', { 'if-match': '*' })
  assert.equal(await client.xLen(keys.stream), 2)
  for (const each of [app, other]) assert.deepEqual((await get(each, first.url)).json(), first)
  assert.equal((await get(app, first.url.replace('News', 'Other'))).statusCode, 404, 'of this page alone')
  assert.equal((await get(app, '/wiki/News')).statusCode, 404)
  const { services } = (await get(app, '/status.json')).json()
  const { strategy } = services.find((/** @type {any} */ { name }) => name === 'saving')
  assert.equal(strategy, STRATEGY.WRITE_STRATEGY)

  await release()
  assert.equal((await settled(other, first)).revision, 1)
  assert.equal((await settled(app, second)).revision, 2)
  assert.match((await get(app, '/wiki/News')).body, /More snow/)
  assert.ok(await waitUntil(async () => await client.exists([keys.lease, keys.ids]) === 0, WAIT_MAX_MS))
  assert.deepEqual([await client.xLen(keys.stream), await client.get(keys.bytes) ?? '0'], [0, '0'])
  const form = await submit(app, 'form', { content: 'by a person' })
  assert.equal(form.statusCode, 303, 'what a person saves is stored before the answer')
})

test('two processes store each save once, and those of a page in the order of their answers', async (t) => {
  const { app, db, settings } = await build(t)
  const other = await wiki.build(t, settings)
  const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`)
  for (const [index, text] of texts.entries()) {
    await accepted(index % 2 ? app : other, 'hot', text)
    await accepted(index % 3 ? app : other, `page ${index}`, text)
  }
  assert.ok(await waitUntil(async () => await db.collection('revisions').countDocuments() >= 80, WAIT_MAX_MS))
  assert.deepEqual(await textsOf(db, 'hot'), texts)
  assert.equal(await db.collection('pages').countDocuments(), 41)
  assert.equal(await db.collection('revisions').countDocuments(), 80)
})

test('a save that was stored before a crash, and did not leave Redis, is not stored again', async (t) => {
  const { app, db, client, keys, settings } = await build(t)
  const release = await hold(t, db)
  const saves = [
    await accepted(app, 'a', 'first'),
    await accepted(app, 'a', 'second'),
    await accepted(app, 'new', 'text', { 'if-none-match': '*' }),
    await accepted(app, 'a', 'refused', { 'if-none-match': '*' })
  ]
  const waiting = await client.xRange(keys.stream, '-', '+') ?? []
  const ids = await client.hGetAll(keys.ids)
  const bytes = /** @type {string} */ (await client.get(keys.bytes))
  await release()
  const before = await Promise.all(saves.map((each) => settled(app, each)))
  assert.deepEqual(before.map(({ status }) => status), ['saved', 'saved', 'saved', 'failed'])
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  await app.close()
  // What refused the save does not any more.
  await db.collection('pages').updateOne({ _id: /** @type {any} */ ('a') }, { $set: { deleted_at: new Date() } })

  for (const { message } of waiting) await client.xAdd(keys.stream, '*', message)
  await client.hSet(keys.ids, ids)
  await client.set(keys.bytes, bytes)
  const next = await wiki.build(t, settings)
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS), 'they leave Redis')
  const after = await Promise.all(saves.map((each) => settled(next, each)))
  assert.deepEqual(after, before)
  assert.deepEqual(await textsOf(db, 'a'), ['first', 'second'])
  assert.deepEqual(await textsOf(db, 'new'), ['text'])
})

test('a wiki that is killed loses nothing: the next process stores what waits in Redis', async (t) => {
  const testbed = await createTestbed({ settings: { ...STRATEGY, REDIS_URL: redis.url, WORKERS: '2' } })
  t.after(() => testbed.remove())
  await testbed.start()
  const { db, client, keys } = await place(t, testbed.uri)
  const release = await hold(t, db)
  const send = async (/** @type {number} */ index) => {
    const body = JSON.stringify({ content: `text ${index}` })
    const headers = { 'content-type': 'application/json' }
    const { status } = await fetch(`${testbed.url}/api/v1/pages/page ${index % 5}`, { method: 'PUT', headers, body })
    assert.equal(status, 202)
  }
  for (let index = 0; index < 20; index++) await send(index)
  await testbed.killWiki()
  await release()
  await testbed.startWiki(0, '/readyz')
  assert.ok(await waitUntil(async () => await db.collection('revisions').countDocuments() === 20, WAIT_MAX_MS))
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  assert.deepEqual(await textsOf(db, 'page 3'), ['text 3', 'text 8', 'text 13', 'text 18'])
})

test('one process at a time has the lease, notices when it is lost, and gives it back', async (t) => {
  const { client } = await place(t)
  const log = /** @type {any} */ ({ info () {}, warn () {} })
  const address = /** @type {import('../src/shared/address.js').RedisAddress} */ (parseRedisUrl(redis.url))
  const connection = createSharedRedis({ address, log })
  t.after(connection.close)
  await connection.open()
  const key = 'stevec:saves:{lease}:lease'
  const [one, other] = [1, 2].map(() => createLease({ redis: connection, key, leaseMs: 400 }))
  const until = { keeps: () => true, ends: new AbortController().signal }
  const isOver = (/** @type {AbortSignal} */ signal) => waitUntil(() => signal.aborted, WAIT_MAX_MS)
  assert.ok(await one.withLease(async (signal) => {
    const value = await client.get(key)
    // Longer than the lease: it is renewed.
    let renewed = 0
    for (let before = 0; renewed < 8;) {
      const left = await client.pTTL(key)
      if (left > before) renewed++
      before = left
    }
    assert.equal(await other.withLease(async () => 'mine', until), null)
    assert.equal(await client.get(key), value)
    assert.ok(!signal.aborted)
    await client.set(key, 'another', { PX: WAIT_MAX_MS })
    return isOver(signal)
  }, until), 'the loss is noticed')
  assert.equal(await client.get(key), 'another', 'it is not given back by the process that lost it')
  await client.del(key)
  assert.equal(await other.withLease(async () => 'mine', until), 'mine')
  assert.equal(await client.exists(key), 0)
  assert.ok(await one.withLease(isOver, { ...until, keeps: () => false }), 'nor is it kept without a database')
})

test('all processes together let no more wait than the limits say', async (t) => {
  const limits = { UNSAFE_RECORDS_MAX: '3', UNSAFE_MIB_MAX: '1' }
  const { app, db, client, keys, settings } = await build(t, limits)
  const other = await wiki.build(t, { ...settings, ...limits })
  const release = await hold(t, db)
  await accepted(app, 'a', 'x'.repeat(300_000))
  assert.equal((await save(other, 'b', 'x'.repeat(500_000))).statusCode, 503, 'too large')
  await accepted(other, 'b', 'text')
  await accepted(app, 'c', 'text')
  const refused = await Promise.all([app, other].map((each) => save(each, 'd', 'text')))
  for (const { statusCode, headers, json } of refused) {
    assert.equal(statusCode, 503)
    assert.equal(headers['retry-after'], '2')
    assert.match(json().detail, /Nothing was changed; try again/)
  }
  assert.equal(await client.xLen(keys.stream), 3)
  await release()
  for (const [name, each] of Object.entries({ app, other })) {
    assert.ok(await waitUntil(async () => (await save(each, name, 'text')).statusCode === 202, WAIT_MAX_MS))
  }
  assert.ok(await waitUntil(async () => await db.collection('pages').countDocuments() === 5, WAIT_MAX_MS))
})

test('while Redis is away a save is refused and not made, forms are saved; all goes on when it is back', async (t) => {
  const own = await startRedis({ password, appendonly: true })
  t.after(own.stop)
  const { app, db, lines } = await build(t, { REDIS_URL: own.url })
  const before = await accepted(app, 'before', 'text')
  await settled(app, before)
  await own.kill()
  const isAway = () => lines.some(({ msg }) => /^Redis is away: until it answers, saves/.test(msg))
  assert.ok(await waitUntil(isAway, WAIT_MAX_MS))
  const refused = await save(app, 'a', 'text')
  assert.equal(refused.statusCode, 503)
  assert.equal(refused.headers['retry-after'], '2')
  assert.match(refused.json().detail, /^Redis, where saves wait to be stored, cannot take one just now. Nothing was/)
  assert.equal((await submit(app, 'form', { content: 'by a person' })).statusCode, 303)
  assert.equal((await get(app, before.url)).json().status, 'saved', 'the database knows it')
  const unknown = await get(app, `/api/v1/saves/${'A'.repeat(22)}?page=a`)
  assert.equal(unknown.statusCode, 503, 'it may wait')
  await own.start()
  assert.ok(await waitUntil(async () => (await save(app, 'b', 'text')).statusCode === 202, WAIT_MAX_MS))
  assert.ok(await waitUntil(async () => (await textsOf(db, 'b')).length > 0, WAIT_MAX_MS))
  assert.deepEqual(await textsOf(db, 'a'), [])
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(password))
})

test('a save that Redis does not answer in time is not acknowledged; the answer says it may be made', async (t) => {
  const own = await startRedis({ password })
  t.after(own.stop)
  const { app } = await build(t, { REDIS_URL: own.url, WRITES_PER_MINUTE: '0' })
  const { pid } = own.identity()
  /** @returns {Promise<string>} what the author of a save gets to know */
  async function saveWhilePaused () {
    assert.ok(await waitUntil(async () => (await save(app, 'a', 'text')).statusCode === 202, WAIT_MAX_MS))
    await pauseProcess(pid)
    try {
      const answer = await save(app, 'a', 'text')
      assert.equal(answer.statusCode, 503)
      return answer.json().detail
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }
  // The wiki may notice the pause by another command, before the save: then Redis cannot take it.
  const isLate = async () => /did not answer in time. Your save may be made all the same; look at the page/
    .test(await saveWhilePaused())
  assert.ok(await waitUntil(isLate, WAIT_MAX_MS))
})

test('while the database is away saves are accepted, shown as pending, and stored once it is back', async (t) => {
  const testbed = await createTestbed({ settings: { ...STRATEGY, REDIS_URL: redis.url, UNSAFE_RECORDS_MAX: '10' } })
  t.after(() => testbed.remove())
  await testbed.start()
  const keys = bufferKeys('wiki')
  const client = await createClient({ url: redis.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  await client.del(Object.values(keys))
  const put = (/** @type {string} */ name) => fetch(`${testbed.url}/api/v1/pages/${name}`, {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"content":"text"}'
  })
  await testbed.killMongod()
  assert.ok(await waitUntil(async () => (await fetch(`${testbed.url}/wiki/a`)).status === 503, WAIT_MAX_MS))
  /** @type {string[]} */
  const urls = []
  for (let index = 0; index < 9; index++) {
    const answer = await put(`page${index}`)
    assert.equal(answer.status, 202)
    urls.push((await answer.json()).url)
  }
  const link = await fetch(`${testbed.url}/api/v1/short-links/zero`, {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"page":"page0"}'
  })
  assert.equal(link.status, 202)
  assert.equal((await put('more')).status, 503, 'the limits hold')
  const statusOf = async (/** @type {string} */ url) => (await (await fetch(testbed.url + url)).json()).status
  assert.equal(await statusOf(urls[8]), 'pending')
  await testbed.startDatabase()
  for (const url of urls) assert.ok(await waitUntil(async () => await statusOf(url) === 'saved', WAIT_MAX_MS))
  const { db } = await place(t, testbed.uri)
  assert.equal(await db.collection('revisions').countDocuments(), 9)
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  const { headers } = await fetch(`${testbed.url}/s/zero`, { redirect: 'manual' })
  assert.equal(headers.get('location'), '/wiki/page0')
  assert.deepEqual(testbed.mistakes(), [])
})

test('a save that is refused when it is stored is shown so at its address, from any process', async (t) => {
  const { app, db, settings } = await build(t)
  const other = await wiki.build(t, settings)
  await db.command({ collMod: 'revisions', validator: { content: { $ne: 'refused' } } })
  await settled(app, await accepted(app, 'there', 'text'))
  const [unmet, refused, good] = [
    await accepted(app, 'there', 'not new', { 'if-none-match': '*' }),
    await accepted(other, 'other', 'refused'),
    await accepted(app, 'good', 'text')
  ]
  const { status, problem } = await settled(other, unmet)
  assert.deepEqual([status, problem.status, problem.current_revision], ['failed', 412, 1])
  assert.equal((await settled(app, refused)).problem.status, 500)
  assert.equal((await settled(app, good)).status, 'saved')
  assert.equal(await db.collection('revisions').countDocuments(), 2)
})

test('what is no save is set aside and logged, and the saves behind it are stored', async (t) => {
  const { app, db, client, keys, lines } = await build(t)
  const release = await hold(t, db)
  const first = await accepted(app, 'first', 'text')
  /** @type {Record<string, string>[]} */
  const strange = [
    { hello: 'world' },
    { id: first.id, page: '', save: '{}' },
    { id: 'A'.repeat(22), page: 'broken', save: '{"id":' },
    { id: 'B'.repeat(22), page: 'shape', save: JSON.stringify({ id: 'B'.repeat(22), name: 'shape', change: null }) }
  ]
  for (const fields of strange) await client.xAdd(keys.stream, '*', fields)
  const last = await accepted(app, 'last', 'text')
  await release()
  assert.equal((await settled(app, last)).status, 'saved')
  assert.equal((await settled(app, first)).status, 'saved')
  const aside = await client.xRange(keys.aside, '-', '+') ?? []
  assert.deepEqual(aside.map(({ message }) => ({ ...message })), strange)
  const said = lines.filter(({ msg }) => /^what waited in Redis is no save, and was set aside/.test(msg))
  assert.equal(said.length, strange.length)
  const { problem } = (await get(app, `/api/v1/saves/${'A'.repeat(22)}?page=broken`)).json()
  assert.equal(problem.status, 500, 'if somebody has its address, it says so')
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  assert.equal(await client.get(keys.bytes) ?? '0', '0')
})

test('a wiki that stops stores what waits; without its database it leaves that to the next one', async (t) => {
  const testbed = await createTestbed({ settings: { ...STRATEGY, REDIS_URL: redis.url } })
  t.after(() => testbed.remove())
  const keys = bufferKeys('wiki')
  const client = await createClient({ url: redis.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  await client.del(Object.values(keys))
  await testbed.start()
  let asked = 0
  // Again if Redis does not answer within the wiki's limit, on a busy machine: that save may have been made, too.
  const put = async (/** @type {string} */ name) => {
    const isAccepted = async () => {
      asked++
      const { status } = await fetch(`${testbed.url}/api/v1/pages/${name}`, {
        method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"content":"text"}'
      })
      return status === 202
    }
    assert.ok(await waitUntil(isAccepted, WAIT_MAX_MS))
  }
  await Promise.all(Array.from({ length: 50 }, (_, index) => put(`page${index}`)))
  await testbed.stopWiki(0)
  assert.equal(await client.xLen(keys.stream), 0)
  const { db } = await place(t, testbed.uri)
  assert.equal((await db.collection('revisions').distinct('page')).length, 50)
  assert.ok(await db.collection('revisions').countDocuments() <= asked, 'each at most once')

  await testbed.startWiki(0, '/readyz')
  await testbed.killMongod()
  assert.ok(await waitUntil(async () => (await fetch(`${testbed.url}/wiki/a`)).status === 503, WAIT_MAX_MS))
  asked = 0
  await put('later')
  await testbed.stopWiki(0)
  const waiting = await client.xLen(keys.stream)
  assert.ok(waiting >= 1 && waiting <= asked)
  assert.match(testbed.log(), new RegExp(`"waiting":${waiting}.*saves wait in Redis for the next process`))
  await testbed.startDatabase()
  await testbed.startWiki(0, '/readyz')
  assert.ok(await waitUntil(async () => (await textsOf(db, 'later')).length === waiting, WAIT_MAX_MS))
})

test('a wiki with another strategy says that saves wait in Redis; the right one stores them', async (t) => {
  const { app, db, keys, client, settings } = await build(t)
  const release = await hold(t, db)
  await accepted(app, 'a', 'text')
  const waiting = await client.xRange(keys.stream, '-', '+') ?? []
  await release()
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  await app.close()
  await db.dropDatabase()
  for (const { message } of waiting) await client.xAdd(keys.stream, '*', message)
  const { lines, logTo } = createLog()
  await wiki.build(t, { ...settings, WRITE_STRATEGY: 'sync' }, {}, { logTo })
  const says = (/** @type {any} */ { msg, waiting }) => waiting === 1 && /and this wiki does not store them/.test(msg)
  assert.ok(await waitUntil(() => lines.some(says), WAIT_MAX_MS))
  await wiki.build(t, settings)
  assert.ok(await waitUntil(async () => (await textsOf(db, 'a')).length === 1, WAIT_MAX_MS))
})

test('a Redis that may drop saves is named in the log', async (t) => {
  const own = await startRedis({ password })
  t.after(own.stop)
  const client = await createClient({ url: own.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  const warns = (/** @type {any} */ { msg }) => /^Redis may drop saves that wait when its memory is full/.test(msg)
  await client.configSet('maxmemory-policy', 'allkeys-lru')
  const { lines } = await build(t, { REDIS_URL: own.url })
  assert.ok(await waitUntil(() => lines.some(warns), WAIT_MAX_MS))
  await client.configSet('maxmemory-policy', 'volatile-lru')
  const { lines: others, app } = await build(t, { REDIS_URL: own.url })
  await settled(app, await accepted(app, 'a', 'text'))
  assert.ok(!others.some(warns))
})

test('a Redis without memory takes no save, and keeps those that it has', async (t) => {
  const own = await startRedis({ password })
  t.after(own.stop)
  const client = await createClient({ url: own.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  const { app, db } = await build(t, { REDIS_URL: own.url })
  const release = await hold(t, db)
  const first = await accepted(app, 'a', 'text')
  await client.configSet('maxmemory', '1')
  const refused = await save(app, 'b', 'text')
  assert.equal(refused.statusCode, 503)
  assert.match(refused.json().detail, /cannot take one just now. Nothing was changed/)
  await release()
  assert.equal((await settled(app, first)).status, 'saved', 'what waits is stored and removed all the same')
  await client.configSet('maxmemory', '0')
  assert.ok(await waitUntil(async () => (await save(app, 'b', 'text')).statusCode === 202, WAIT_MAX_MS))
})
