import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { createQueue } from '../src/queue/queue.js'
import { get, readMetrics, save, useWiki } from './helper.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
const LINKING = 2_500
const QUICK = { lookAfterMs: [5], checkMs: 20, retryMs: 2, retryMaxMs: 10, leaseMs: 60_000, failuresMax: 4 }

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('../src/queue/worker.js').Work} Work */

/** @param {TestContext} t @param {string} uri */
async function open (t, uri) {
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return client.db()
}

/** @param {TestContext} t @param {string} uri */
async function connect (t, uri) {
  const connection = await mongoose.createConnection(uri).asPromise()
  t.after(() => connection.close())
  return connection
}

/**
 * @param {TestContext} t @param {string} uri
 * @param {Record<string, Work> | ((connection: mongoose.Connection) => Record<string, Work>)} given  works
 * @param {object} [timing]
 */
async function startQueue (t, uri, given, timing = {}) {
  /** @type {string[]} */
  const lines = []
  const note = (/** @type {object} */ _fields, message = String(_fields)) => { lines.push(message) }
  const log = /** @type {any} */ ({ warn: note, error: note })
  const connection = await connect(t, uri)
  const works = typeof given === 'function' ? given(connection) : given
  const queue = createQueue({
    connection, works, isUnavailable: (error) => /no primary/.test(String(error)), log, timing: { ...QUICK, ...timing }
  })
  await queue.open()
  t.after(queue.close)
  const add = (/** @type {string} */ kind, /** @type {string} */ name) =>
    connection.transaction((session) => queue.add([{ kind, name }], session))
  return { queue, add, lines, connection }
}

/** @param {Partial<Work>} work @returns {Work} */
const workOf = (work) => ({ step: async () => null, finish: async () => {}, finished: () => {}, ...work })

/**
 * Links of so many pages to one that does not exist yet. Written as the wiki writes them, but for their number.
 * @param {import('mongodb').Db} db
 */
async function linkFrom (db, count = LINKING) {
  const pages = db.collection('pages')
  const one = await pages.findOne({ _id: /** @type {any} */ ('linking') })
  const all = Array.from({ length: count }, (_, index) => ({ ...one, _id: /** @type {any} */ (`from ${index}`) }))
  await pages.insertMany(all)
  await db.collection('targets').updateOne({ _id: /** @type {any} */ ('hub') }, { $inc: { sources: count } })
}

test('a page that thousands link to is written, renamed and deleted at once, and all of them show it soon', async (t) => {
  const uri = wiki.freshUri()
  /** @type {import('../src/caching/invalidation.js').Stale[]} */
  const purged = []
  const app = await wiki.build(t, { MONGODB_URI: uri }, {
    purge: async (stale) => { purged.push(stale) }, timing: { gatherMs: 5, repeatAfterMs: 30 }
  })
  const db = await open(t, uri)
  await save(app, 'linking', '[[hub]]')
  await linkFrom(db)
  const shows = async (/** @type {RegExp} */ link) => {
    const queue = db.collection('queue')
    assert.ok(await waitUntil(async () => await queue.countDocuments() === 0, WAIT_MAX_MS))
    for (const name of ['linking', 'from 0', 'from 999', 'from 1500', `from ${LINKING - 1}`]) {
      assert.match((await get(app, `/wiki/${encodeURIComponent(name)}`)).body, link, name)
    }
  }
  const missing = /<a [^>]*class="missing"[^>]*>hub<\/a>/
  const there = /<a href="\/wiki\/hub">hub<\/a>/
  await shows(missing)

  assert.equal((await save(app, 'hub', 'text')).statusCode, 201)
  const marked = () => db.collection('pages').countDocuments({ links: 'hub', links_outdated: { $gt: '' } })
  await shows(there)
  assert.ok(await marked() >= LINKING - 5, 'nobody has read the others yet')
  const everything = () => purged.filter((stale) => stale.everything).length
  assert.ok(await waitUntil(() => everything() >= 2, WAIT_MAX_MS), 'caches forget what they got meanwhile')

  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/hub' })).statusCode, 204)
  await shows(missing)
  assert.equal((await save(app, 'hub', 'text again')).statusCode, 201)
  await shows(there)
  const renamed = await app.inject({ method: 'POST', url: '/api/v1/pages/hub/rename', payload: { to: 'other' } })
  assert.equal(renamed.statusCode, 201)
  await shows(there)
})

test('what an edit left to do is done by the next process, after the part that was done', async (t) => {
  const uri = wiki.freshUri()
  /** @type {string[]} */
  const steps = []
  let hold = true
  const work = workOf({
    async step ({ done_up_to: doneUpTo }) {
      steps.push(doneUpTo)
      if (doneUpTo === 'b' && hold) return new Promise(() => {})
      return { '': 'a', a: 'b', b: 'c' }[doneUpTo] ?? null
    }
  })
  const first = await startQueue(t, uri, { work }, { leaseMs: 500 })
  await first.add('work', 'page')
  assert.ok(await waitUntil(() => steps.includes('b'), WAIT_MAX_MS))
  hold = false
  const second = await startQueue(t, uri, { work })
  const entries = second.connection.collection('queue')
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS), 'the lease of the first ends')
  assert.deepEqual(steps, ['', 'a', 'b', 'b', 'c'])
})

test('a process that stops hands over at once', async (t) => {
  const uri = wiki.freshUri()
  let steps = 0
  const slow = workOf({
    async step () {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return `${++steps}`
    }
  })
  const first = await startQueue(t, uri, { slow })
  await first.add('slow', 'page')
  assert.ok(await waitUntil(() => steps > 2, WAIT_MAX_MS))
  await first.queue.close()
  const entry = await first.connection.collection('queue').findOne({})
  assert.deepEqual([entry?.claim, Number(entry?.done_up_to) > 2], [null, true])
  assert.ok(entry?.due_at <= new Date())
})

test('an entry is done once: its end and its deletion are one transaction, also with several processes', async (t) => {
  const uri = wiki.freshUri()
  const db = await open(t, uri)
  await db.createCollection('done')
  const works = (/** @type {mongoose.Connection} */ connection) => ({
    work: workOf({
      finish: async ({ name }, session) => {
        await connection.collection('done').insertOne({ name }, { session })
      }
    })
  })
  const queues = await Promise.all([0, 1, 2].map(() => startQueue(t, uri, works)))
  const names = Array.from({ length: 30 }, (_, index) => `page ${index}`)
  await Promise.all(names.map((name, index) => queues[index % 3].add('work', name)))
  assert.ok(await waitUntil(async () => await db.collection('queue').countDocuments() === 0, WAIT_MAX_MS))
  const done = await db.collection('done').find().toArray()
  assert.deepEqual(done.map(({ name }) => name).sort(), names.sort())
})

test('an entry that fails is tried again, then set aside and shown, and delays no other', async (t) => {
  const uri = wiki.freshUri()
  let attempts = 0
  let good = 0
  const works = {
    poison: workOf({ step: async () => { attempts++; throw new Error('this page cannot be read') } }),
    good: workOf({ finished: () => { good++ } })
  }
  const { add, queue, lines, connection } = await startQueue(t, uri, works)
  await add('poison', 'bad page')
  await add('unknown', 'of a newer version, which will do it')
  for (const name of ['a', 'b', 'c']) await add('good', name)
  assert.ok(await waitUntil(() => good === 3 && queue.state().setAside === 1, WAIT_MAX_MS))
  assert.equal(attempts, QUICK.failuresMax)
  const entry = await connection.collection('queue').findOne({ kind: 'poison' })
  assert.deepEqual([entry?.problem, entry?.failures], ['this page cannot be read', QUICK.failuresMax])
  assert.equal(queue.state().waiting, 1)
  const isGivenUp = () => lines.some((line) => /given up.*this page cannot be read/.test(line))
  assert.ok(await waitUntil(isGivenUp, WAIT_MAX_MS), lines.join('\n'))

  works.poison = workOf({ finished: () => { good++ } })
  await connection.collection('queue').updateMany({}, { $unset: { set_aside_at: '' }, $set: { failures: 0 } })
  assert.ok(await waitUntil(() => good === 4, WAIT_MAX_MS), 'as docs/operations.md says')
})

test('an entry that goes on between its failures is never set aside, and one dated by a wrong clock is taken', async (t) => {
  const uri = wiki.freshUri()
  let step = 0
  const work = workOf({
    async step () {
      step++
      if (step === 30) return null
      if (step % 2 === 0) throw new Error('now and then')
      return String(step)
    }
  })
  const { queue, connection } = await startQueue(t, uri, { work })
  await connection.collection('queue').insertOne({
    kind: 'work', name: 'page', done_up_to: '', due_at: new Date(Date.now() + 3_600_000), claim: null, failures: 0
  })
  assert.ok(await waitUntil(() => step === 30 && queue.state().waiting === 0, WAIT_MAX_MS))
  assert.equal(queue.state().setAside, 0)
})

test('a database that is away is no failure of an entry', async (t) => {
  const uri = wiki.freshUri()
  let attempts = 0
  const work = workOf({
    step: async () => {
      if (++attempts < 10) throw new Error('there is no primary')
      return null
    }
  })
  const { add, queue, lines } = await startQueue(t, uri, { work })
  await add('work', 'page')
  assert.ok(await waitUntil(() => attempts >= 10 && queue.state().waiting === 0, WAIT_MAX_MS))
  assert.equal(queue.state().setAside, 0)
  assert.ok(lines.filter((line) => /stands still/.test(line)).length >= 1)
})

test('the status page and the metrics say what is left to do and what was given up', async (t) => {
  const uri = wiki.freshUri()
  const [port] = await freePorts(1)
  const db = await open(t, uri)
  await db.collection('queue').insertMany([
    { kind: 'unknown', name: 'a', done_up_to: '', due_at: new Date(), failures: 12, set_aside_at: new Date() },
    { kind: 'unknown', name: 'b', done_up_to: '', due_at: new Date(Date.now() + 3_600_000), failures: 1 }
  ].map((entry) => ({ ...entry, claim: null })))
  const app = await wiki.build(t, { MONGODB_URI: uri, METRICS_PORT: String(port) })
  const queueIn = async () => (await get(app, '/status.json')).json().services
    .find((/** @type {any} */ { name }) => name === 'queue')
  assert.ok(await waitUntil(async () => (await queueIn()).tasks.waiting === 1, WAIT_MAX_MS))
  const { status, tasks } = await queueIn()
  assert.deepEqual([status, tasks.set_aside, tasks.lag_s >= 0], ['degraded', 1, true])
  assert.match((await get(app, '/status')).body, /Set aside, as they failed too often: 1/)
  const { text } = await readMetrics(port)
  assert.match(text, /^wiki_queue_waiting 1$/m)
  assert.match(text, /^wiki_queue_set_aside 1$/m)
  assert.match(text, /^wiki_queue_lag_seconds \d+$/m)
})
