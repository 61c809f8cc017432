import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { MongoClient, ObjectId } from 'mongodb'
import mongoose from 'mongoose'
import { readConfig } from '../src/config.js'
import { defineModels } from '../src/pages/model.js'
import { createQueue } from '../src/queue/queue.js'
import { createFanOut, FAN_OUT, FAN_OUTS } from '../src/watching/fan-out.js'
import { save, useWiki } from './helper.js'
import { bearer, peopleOnly } from './people.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
const WRITTEN = /** @type {const} */ (['in-request', 'on-queue'])

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('mongodb').Db} Db */

/** @param {TestContext} t @param {string} way */
async function build (t, way, uri = wiki.freshUri()) {
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri, WATCH_FAN_OUT: way })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return { app, db: client.db(), uri }
}

/** @param {App} app @param {string} name @param {string} text @param {string} [user] */
async function edit (app, name, text, user = 'editor') {
  const { statusCode } = await save(app, name, text, bearer(user))
  assert.ok(statusCode === 200 || statusCode === 201, `${name}: ${statusCode}`)
}

/** @param {App} app @param {string} user @param {'PUT' | 'DELETE'} method @param {string} path */
async function watching (app, user, method, path) {
  const { statusCode } = await app.inject({ method, url: `/api/v1/watching/${path}`, headers: bearer(user) })
  assert.equal(statusCode, 204)
}

/** @param {App} app @param {string} user @returns {Promise<string[]>} */
async function shown (app, user) {
  const answer = await app.inject({ method: 'GET', url: '/api/v1/watching/changes', headers: bearer(user) })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json().items.map((/** @type {any} */ { name, revision }) => `${name} ${revision}`)
}

/** @param {Db} db */
async function untilDone (db) {
  assert.ok(await waitUntil(async () => await db.collection('queue').countDocuments() === 0, WAIT_MAX_MS))
}

/** @param {Db} db @param {number} count */
async function watchedBy (db, count, page = 'a') {
  const since = new Date(0)
  await db.collection('watchers').insertMany(Array.from({ length: count }, (_, number) => ({
    _id: /** @type {any} */ (keyOf(number)),
    pages: [{ name: page, since, history: page }],
    authors: [],
    read: [],
    read_before: since
  })))
}

/** @param {number} number */
const keyOf = (number) => `person ${String(number).padStart(5, '0')}`

/** @param {Db} db @param {ObjectId} revision @returns {Promise<string[]>} those that have it in their lists, sorted */
const having = async (db, revision) => (await db.collection('feed_items').find({ '_id.revision': revision }).toArray())
  .map(({ _id }) => /** @type {any} */ (_id).watcher).sort()

/** @param {Db} db */
const newestRevision = async (db) => {
  const [newest] = await db.collection('revisions').find().sort({ _id: -1 }).limit(1).toArray()
  return newest._id
}

for (const way of FAN_OUTS) {
  test(`${way}: each change is once in the list of each person that watches the page or its author`, async (t) => {
    const { app, db } = await build(t, way)
    await watching(app, 'reader', 'PUT', 'pages/a')
    await watching(app, 'reader', 'PUT', 'authors/editor')
    await watching(app, 'editor', 'PUT', 'pages/a')
    await edit(app, 'a', 'of a watched page by a watched author')
    await edit(app, 'other', 'by a watched author')
    await edit(app, 'a', 'of a watched page', 'admin')
    await edit(app, 'unseen', 'nobody watches', 'admin')
    await untilDone(db)
    assert.deepEqual(await shown(app, 'reader'), ['a 2', 'other 1', 'a 1'])
    assert.deepEqual(await shown(app, 'editor'), ['a 2', 'a 1'], 'own changes, too')

    await watching(app, 'reader', 'DELETE', 'pages/a')
    await watching(app, 'reader', 'DELETE', 'authors/editor')
    await watching(app, 'admin', 'PUT', 'pages/a')
    await db.collection('watchers').insertOne({
      _id: /** @type {any} */ ('ended'),
      pages: [{ name: 'a', since: new Date(0), history: 'a', until: new Date() }],
      authors: [],
      read: [],
      read_before: new Date(0)
    })
    await edit(app, 'a', 'one has stopped, another has begun')
    await untilDone(db)
    assert.ok(!(await having(db, await newestRevision(db))).includes('ended'))
    assert.ok(!(await shown(app, 'reader')).includes('a 3'))
    assert.deepEqual((await shown(app, 'admin'))[0], 'a 3')
    assert.deepEqual(await shown(app, 'editor'), ['a 3', 'a 2', 'a 1'])

    const payload = { to: 'b' }
    const renamed = await app.inject({
      method: 'POST', url: '/api/v1/pages/a/rename', headers: bearer('admin'), payload
    })
    assert.equal(renamed.statusCode, 201)
    await edit(app, 'b', 'before anybody that watches it has looked')
    assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/b', headers: bearer('admin') })).statusCode, 204)
    await untilDone(db)
    assert.deepEqual(await shown(app, 'editor'), ['b 6', 'b 5', 'b 4', 'b 3', 'b 2', 'b 1'])
  })
}

for (const way of FAN_OUTS) {
  test(`${way}: those that watch a page have what its talk page says, also once both are renamed`, async (t) => {
    const { app, db } = await build(t, way)
    await watching(app, 'reader', 'PUT', 'pages/a')
    await watching(app, 'admin', 'PUT', 'pages/Talk:a')
    await edit(app, 'Talk:a', 'before the page')
    await edit(app, 'a', 'text')
    await edit(app, 'Talk:other', 'about another page')
    const rename = { method: /** @type {const} */ ('POST'), headers: bearer('editor'), payload: { to: 'b' } }
    assert.equal((await app.inject({ ...rename, url: '/api/v1/pages/a/rename' })).statusCode, 201)
    await edit(app, 'Talk:b', 'after the renaming')
    await edit(app, 'Talk:a', 'of a name that is free')
    await untilDone(db)
    assert.deepEqual(await shown(app, 'reader'), ['Talk:b 3', 'Talk:b 2', 'b 2', 'b 1', 'Talk:b 1'])
    assert.deepEqual(await shown(app, 'admin'), ['Talk:b 3', 'Talk:b 2', 'Talk:b 1'])
    await watching(app, 'reader', 'DELETE', 'pages/b')
    await edit(app, 'Talk:b', 'to nobody')
    await untilDone(db)
    assert.ok(!(await shown(app, 'reader')).includes('Talk:b 4'))
  })
}

for (const way of WRITTEN) {
  test(`${way}: all of 10 500 people have a change, each once`, async (t) => {
    const { app, db } = await build(t, way)
    await watchedBy(db, 10_500)
    await edit(app, 'a', 'text')
    if (way === 'in-request') {
      assert.ok(await db.collection('feed_items').countDocuments() >= 10_000, 'those of the request are there at once')
    }
    await untilDone(db)
    assert.deepEqual(await having(db, await newestRevision(db)), Array.from({ length: 10_500 }, (_, at) => keyOf(at)))
  })
}

test('on-queue: a process dies after a step that it has not marked, and another one goes on', async (t) => {
  const uri = wiki.freshUri()
  const connection = await mongoose.createConnection(uri).asPromise()
  t.after(() => connection.close())
  const models = defineModels(connection)
  const db = /** @type {Db} */ (/** @type {unknown} */ (connection.db))
  await watchedBy(db, 2_500)
  const { add, works: { [FAN_OUT]: work } } = createFanOut({ connection, models, way: 'on-queue' })
  /** @type {string[]} */
  const ran = []
  const start = async (/** @type {string} */ name, /** @type {(ran: number) => boolean} */ dies) => {
    let steps = 0
    const queue = createQueue({
      connection,
      works: {
        [FAN_OUT]: {
          ...work,
          async step (entry) {
            const doneUpTo = await work.step(entry)
            ran.push(`${name} ${entry.done_up_to}`)
            return dies(++steps) ? new Promise(() => {}) : doneUpTo
          }
        }
      },
      isUnavailable: () => false,
      log: /** @type {any} */ ({ warn () {}, error () {} }),
      timing: { lookAfterMs: [5], checkMs: 20, leaseMs: 300 }
    })
    await queue.open()
    t.after(queue.close)
    return queue
  }
  const first = await start('first', (steps) => steps === 2)
  const revision = new ObjectId()
  const written = [{ name: 'a', page: 'a', author: 'editor', revision }]
  await connection.transaction((session) => add(written, first.add, session))
  assert.ok(await waitUntil(() => ran.length === 2, WAIT_MAX_MS))
  assert.equal((await having(db, revision)).length, 2_000)
  await start('second', () => false)
  await untilDone(db)
  assert.deepEqual(ran, [
    'first ', `first ${keyOf(999)}`, `second ${keyOf(999)}`, `second ${keyOf(1_999)}`
  ])
  assert.deepEqual(await having(db, revision), Array.from({ length: 2_500 }, (_, at) => keyOf(at)))
})

for (const way of WRITTEN) {
  test(`${way}: without items written, ${way === 'in-request' ? 'no edit is made' : 'edits are'}`, async (t) => {
    const { app, db } = await build(t, way)
    await watchedBy(db, 3)
    const refuse = (/** @type {object} */ validator) => db.command({ collMod: 'feed_items', validator })
    await refuse({ never: 'there' })
    const { statusCode } = await save(app, 'a', 'text', bearer('editor'))
    assert.equal(await db.collection('feed_items').countDocuments(), 0)
    const made = await db.collection('revisions').countDocuments()
    assert.deepEqual([statusCode, made], way === 'in-request' ? [500, 0] : [201, 1])
    await refuse({})
    if (way === 'in-request') await edit(app, 'a', 'text')
    await untilDone(db)
    assert.deepEqual(await having(db, await newestRevision(db)), [0, 1, 2].map(keyOf))
  })
}

test('a list keeps the newest 1000 changes, and none for longer than 90 days', async (t) => {
  const { app, db } = await build(t, 'in-request')
  await watchedBy(db, 1)
  const items = db.collection('feed_items')
  await items.insertMany(Array.from({ length: 1_200 }, (_, index) => ({
    _id: /** @type {any} */ ({ watcher: keyOf(0), revision: new ObjectId(index.toString(16).padStart(24, '0')) }),
    at: new Date()
  })))
  await edit(app, 'a', 'text')
  const left = await items.find().sort({ _id: 1 }).toArray()
  // What the edit adds is not committed yet when the list is trimmed.
  assert.equal(left.length, 1_001)
  assert.equal(Number.parseInt(String(/** @type {any} */ (left[0]._id).revision), 16), 200)
  assert.ok((await items.indexes()).some(({ expireAfterSeconds: s }) => s === 90 * 86_400))
})

test('without people there is nobody to write to, and by default nothing is written', async (t) => {
  for (const way of WRITTEN) {
    const refusal = new RegExp(`WATCH_FAN_OUT=${way} is not allowed with ACCESS=open`)
    assert.throws(() => readConfig({ WATCH_FAN_OUT: way }), refusal)
  }
  const { app, db } = await build(t, 'on-read')
  await watchedBy(db, 3)
  await edit(app, 'a', 'text')
  assert.ok((await db.listCollections().toArray()).every(({ name }) => name !== 'feed_items'))
})
