import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import mongoose from 'mongoose'
import { createClient } from '@redis/client'
import { waitUntil } from '@stevec/harness/processes'
import { newRedisPassword, startRedis } from '@stevec/harness/redis'
import { bufferKeys } from '../src/deferred/redis-buffer.js'
import { get, hold, save, submit, useWiki } from './helper.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const wiki = useWiki()
const password = newRedisPassword()
/** @type {import('@stevec/harness/redis').Redis} */
let redis
before(async () => { redis = await startRedis({ password }) })
after(() => redis.stop())

/** @param {TestContext} t @param {Record<string, string>} [more] */
async function build (t, more = {}) {
  const uri = wiki.freshUri()
  const mongo = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => mongo.close())
  const client = await createClient({ url: redis.url }).on('error', () => {}).connect()
  t.after(() => client.destroy())
  const db = mongo.db()
  const settings = { WRITE_STRATEGY: 'unsafe-write-behind', MONGODB_URI: uri, REDIS_URL: redis.url, ...more }
  return { db, client, keys: bufferKeys(db.databaseName), settings, app: await wiki.build(t, settings) }
}

/** @param {App} app @param {object} payload */
const make = (app, payload) => app.inject({ method: 'POST', url: '/api/v1/short-links', payload })

/** @param {App} app @param {string} id @param {object} payload */
const choose = (app, id, payload) => app.inject({ method: 'PUT', url: `/api/v1/short-links/${id}`, payload })

/** @param {App} app @param {string} id */
const target = async (app, id) => (await get(app, `/s/${id}`)).headers.location

/** @param {import('mongodb').Db} db */
const countLinks = (db) => db.collection('short_links').countDocuments()

for (const reads of ['database', 'redis']) {
  test(`a short address leads to its page at once, from any process, with reads from the ${reads}`, async (t) => {
    const { app, db, client, keys, settings } = await build(t, { SHORT_LINK_READS: reads })
    const other = await wiki.build(t, settings)
    await submit(app, 'A', { content: 'by a person' })
    const release = await hold(t, db)
    const made = await make(app, { page: 'A' })
    assert.equal(made.statusCode, 202, made.body)
    const link = made.json()
    assert.equal(made.headers.location, `/api/v1/short-links/${link.id}`)
    const again = await make(other, { page: 'A' })
    assert.deepEqual([again.statusCode, again.json()], [202, link], 'one target has one')
    const chosen = await choose(other, 'aa', { page: 'A', revision: 1 })
    assert.equal(chosen.statusCode, 202)
    assert.equal((await choose(app, 'aa', { page: 'B' })).statusCode, 409, 'it leads elsewhere already')
    for (const each of [app, other]) {
      assert.deepEqual([await target(each, link.id), await target(each, 'aa')], ['/wiki/A', '/revision/A/1'])
      assert.deepEqual((await get(each, made.headers.location)).json(), link)
      assert.equal((await get(each, '/s/none')).statusCode, 404)
    }
    assert.equal(await countLinks(db), 0)

    await release()
    assert.ok(await waitUntil(async () => await countLinks(db) === 2, WAIT_MAX_MS))
    assert.ok(await waitUntil(async () => await client.exists([keys.links, keys.targets]) === 0, WAIT_MAX_MS))
    assert.deepEqual([await target(app, link.id), await target(app, 'aa')], ['/wiki/A', '/revision/A/1'])
    assert.deepEqual((await get(app, made.headers.location)).json(), link)
    assert.deepEqual([(await make(app, { page: 'A' })).statusCode, (await choose(app, 'aa', { page: 'A', revision: 1 }))
      .statusCode], [200, 200], 'it is known')
    assert.equal((await choose(app, 'aa', { page: 'A' })).statusCode, 409)
  })
}

test('a short address of a page that waits, too, is stored behind it, under the name that it has then', async (t) => {
  const { app, db } = await build(t)
  await submit(app, 'Old', { content: 'by a person' })
  const release = await hold(t, db)
  assert.equal((await save(app, 'New', 'text')).statusCode, 202)
  assert.equal((await choose(app, 'new', { page: 'New' })).statusCode, 202)
  await release()
  assert.ok(await waitUntil(async () => await countLinks(db) === 1, WAIT_MAX_MS))
  const url = '/api/v1/pages/New/rename'
  assert.equal((await app.inject({ method: 'POST', url, payload: { to: 'Newer' } })).statusCode, 201)
  assert.equal((await choose(app, 'late', { page: 'New' })).statusCode, 202)
  assert.ok(await waitUntil(async () => await countLinks(db) === 2, WAIT_MAX_MS))
  assert.deepEqual([await target(app, 'new'), await target(app, 'late')], ['/wiki/Newer', '/wiki/Newer'])
})

test('what cannot be stored leads nowhere afterwards, and its address says why', async (t) => {
  const { app } = await build(t)
  const { id } = (await make(app, { page: 'Nowhere' })).json()
  const url = `/api/v1/short-links/${id}`
  assert.ok(await waitUntil(async () => (await get(app, url)).statusCode === 404, WAIT_MAX_MS))
  assert.match((await get(app, url)).json().detail, /was answered, and could not be made. There is no page named “No/)
  assert.equal((await get(app, `/s/${id}`)).statusCode, 404)
  assert.equal((await get(app, '/api/v1/short-links/other')).json().detail, 'There is no page at this short address.')
})

test('a short address stored before a crash is not stored again; two random ones both lead there', async (t) => {
  const { app, db, client, keys, settings } = await build(t)
  await submit(app, 'A', { content: 'by a person' })
  const release = await hold(t, db)
  const { id } = (await make(app, { page: 'A' })).json()
  const waiting = await client.xRange(keys.stream, '-', '+') ?? []
  await release()
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  await app.close()
  const [{ message }] = waiting
  const another = JSON.stringify({ ...JSON.parse(message.link), id: 'zzzzzzzz' })
  for (const fields of [message, { ...message, short: 'zzzzzzzz', link: another }, { short: 'zz', link: '{}' }]) {
    await client.xAdd(keys.stream, '*', fields)
  }
  const next = await wiki.build(t, settings)
  assert.ok(await waitUntil(async () => await client.xLen(keys.stream) === 0, WAIT_MAX_MS))
  const stored = await db.collection('short_links').find().sort({ created_at: 1, _id: 1 }).toArray()
  assert.deepEqual(stored.map(({ _id, chosen }) => [String(_id), chosen]).sort(),
    [[id, null], ['zzzzzzzz', 'zzzzzzzz']].sort())
  assert.deepEqual([await target(next, id), await target(next, 'zzzzzzzz')], ['/wiki/A', '/wiki/A'])
  assert.equal(await client.xLen(keys.aside), 1)
})

test('the limits hold for short addresses, and without Redis there is a 503; a person gets a stored one', async (t) => {
  const own = await startRedis({ password, appendonly: true })
  t.after(own.stop)
  const { app, db } = await build(t, { REDIS_URL: own.url, UNSAFE_RECORDS_MAX: '1' })
  await submit(app, 'A', { content: 'by a person' })
  const release = await hold(t, db)
  assert.equal((await choose(app, 'one', { page: 'A' })).statusCode, 202)
  const full = await choose(app, 'two', { page: 'A' })
  assert.deepEqual([full.statusCode, full.headers['retry-after']], [503, '2'])
  await release()
  assert.ok(await waitUntil(async () => await countLinks(db) === 1, WAIT_MAX_MS))
  await own.kill()
  assert.ok(await waitUntil(async () => {
    const { statusCode, json } = await choose(app, 'two', { page: 'A' })
    return statusCode === 503 && /Nothing was changed/.test(json().detail)
  }, WAIT_MAX_MS))
  assert.equal(await target(app, 'one'), '/wiki/A', 'the database knows it')
  assert.equal((await get(app, '/s/none')).statusCode, 503, 'it may wait')
  const form = await app.inject({ method: 'POST', url: '/edit/short-link/A', payload: {} })
  assert.equal(form.statusCode, 201)
})
