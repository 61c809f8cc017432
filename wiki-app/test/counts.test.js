import assert from 'node:assert/strict'
import test from 'node:test'
import { createRandom } from '@stevec/harness/random'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { createRenderer } from '../src/markdown/renderer.js'
import { defineModels } from '../src/pages/model.js'
import { createPageStore } from '../src/pages/store.js'
import { createQueue } from '../src/queue/queue.js'
import { judge } from '../torture/oracle.js'
import { stored } from '../torture/torture.js'
import { get, save, untilCounted, useWiki } from './helper.js'

/** @import {TestContext} from 'node:test' */
/** @import {Purges} from '../src/pages/commit.js' */

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
const QUICK = { lookAfterMs: [5, 50], checkMs: 20, retryMs: 2, retryMaxMs: 10, failuresMax: 3 }
/** @type {Purges} */
const NO_PURGES = { ofCommits: () => [], ofCounted: () => [], ofEverything: () => [], added: () => {} }

/**
 * What a process has of a wiki to store pages.
 * @param {TestContext} t @param {string} uri
 * @param {{purges?: Partial<Purges>, beforeCommit?: () => Promise<void>,
 *   mayTell?: import('../src/pages/link-targets.js').MayTell}} [parts]
 */
async function startStore (t, uri, { purges = {}, beforeCommit = async () => {}, mayTell } = {}) {
  const connection = await mongoose.createConnection(uri, { promoteBuffers: true }).asPromise()
  const models = defineModels(connection)
  const renderer = createRenderer({ maxBytes: 100_000 })
  /** @type {string[]} */
  const lines = []
  const note = (/** @type {object} */ _fields, message = String(_fields)) => { lines.push(message) }
  const log = /** @type {any} */ ({ warn: note, error: note })
  /** @type {Record<string, import('../src/queue/worker.js').Work>} */
  const works = {}
  const queue = createQueue({ connection, works, isUnavailable: () => false, log, timing: QUICK })
  /** @type {import('../src/queue/queue.js').Later} */
  async function later (tasks, session) {
    await beforeCommit()
    await queue.add(tasks, session)
  }
  const store = createPageStore({
    models, renderer, later, purges: { ...NO_PURGES, ...purges }, readsAtOnce: 8, log, mayTell
  })
  Object.assign(works, store.works)
  // The making of an index waits for open transactions, and holds up what comes after it.
  await Promise.all(Object.values(connection.models).map((model) => model.init()))
  t.after(async () => {
    await queue.close()
    await renderer.close()
    await connection.close()
  })
  const entries = connection.collection('queue')
  return {
    store,
    queue,
    lines,
    entries,
    targets: connection.collection('targets'),
    pages: connection.collection('pages'),
    untilDone: async () => {
      assert.ok(await waitUntil(async () => await entries.countDocuments({ set_aside_at: { $exists: false } }) === 0,
        WAIT_MAX_MS))
    }
  }
}

/** Hears what a count purges. */
function createEar () {
  /** @type {string[]} */
  const purged = []
  /** @type {Purges['ofCounted']} */
  const ofCounted = ({ pages }) => {
    purged.push(...pages)
    return []
  }
  return { purged, ofCounted }
}

/** An edit's transaction that stays open before its commit. */
function createGate () {
  let open = () => {}
  let reached = () => {}
  const opened = new Promise((resolve) => { open = () => resolve(undefined) })
  /** @type {Promise<void>} */
  const isReached = new Promise((resolve) => { reached = resolve })
  return {
    open: () => open(),
    isReached,
    beforeCommit: async () => {
      reached()
      await opened
    }
  }
}

test('links and tags are counted right after edits of several processes that share them', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const random = createRandom(23)
  const some = (/** @type {string[]} */ names) => names.filter(() => random() < 0.4)
  const edits = Array.from({ length: 120 }, (_, index) => {
    const url = `/api/v1/pages/page%20${Math.floor(random() * 12)}`
    if (random() < 0.15) return () => apps[index % 2].inject({ method: 'DELETE', url })
    const content = some(['page 1', 'page 2', 'page 3', 'wanted', 'other']).map((name) => `[[${name}]]`).join(' ')
    const payload = { content: `text ${content}`, tags: some(['red', 'green', 'blue']) }
    return () => apps[index % 2].inject({ method: 'PUT', url, payload })
  })
  for (let first = 0; first < edits.length; first += 30) {
    const answers = await Promise.all(edits.slice(first, first + 30).map((edit) => edit()))
    assert.ok(answers.every(({ statusCode }) => [200, 201, 204, 404].includes(statusCode)))
  }
  await untilCounted(apps[0])
  const { queue = [], ...snapshot } = await stored(uri)
  assert.deepEqual(queue, [])
  assert.equal(judge([], [], snapshot).torn_counts, 0)
  assert.deepEqual(snapshot.tags.filter(({ pages }) => pages <= 0), [], 'unused tags are forgotten')
})

test('a page that links to one that is created meanwhile shows it as soon as the link is counted', async (t) => {
  const uri = wiki.freshUri()
  const gate = createGate()
  const creator = await startStore(t, uri, gate)
  const { purged, ofCounted } = createEar()
  const linker = await startStore(t, uri, { purges: { ofCounted } })
  await linker.queue.open()
  const created = creator.store.save('target', { content: 'text' })
  await gate.isReached
  await linker.store.save('linking', { content: '[[target]]' })
  assert.match(String((await linker.store.findView('linking'))?.html), /class="missing"/, 'it does not exist yet')
  gate.open()
  await created
  await linker.untilDone()
  assert.doesNotMatch(String((await linker.store.findView('linking'))?.html), /class="missing"/)
  assert.deepEqual(purged, ['linking'])
})

test('a page that links to one that is deleted meanwhile shows it as soon as the link is counted', async (t) => {
  const uri = wiki.freshUri()
  const gate = createGate()
  const other = await startStore(t, uri)
  await other.store.save('target', { content: 'text' })
  const linker = await startStore(t, uri, gate)
  const linked = linker.store.save('linking', { content: '[[target]]' })
  await gate.isReached
  await other.store.remove('target')
  gate.open()
  await linked
  assert.doesNotMatch(String((await linker.store.findView('linking'))?.html), /class="missing"/, 'as it was then')
  await linker.queue.open()
  await linker.untilDone()
  assert.match(String((await linker.store.findView('linking'))?.html), /class="missing"/)
})

for (const isRead of [true, false]) {
  test(`so does a page that was renamed meanwhile${isRead ? ', and read' : ''}`, async (t) => {
    const uri = wiki.freshUri()
    const gate = createGate()
    const creator = await startStore(t, uri, gate)
    const linker = await startStore(t, uri)
    const created = creator.store.save('target', { content: 'text' })
    await gate.isReached
    await linker.store.save('linking', { content: '[[target]]' })
    await linker.store.rename('linking', 'renamed')
    if (isRead) {
      assert.match(String((await linker.store.findView('renamed'))?.html), /class="missing"/)
      const mark = async () => (await linker.pages.findOne({ _id: /** @type {any} */ ('renamed') }))?.links_outdated
      assert.ok(await waitUntil(async () => await mark() === null, WAIT_MAX_MS), 'the reader’s correction is stored')
    }
    gate.open()
    await created
    await linker.queue.open()
    await linker.untilDone()
    assert.doesNotMatch(String((await linker.store.findView('renamed'))?.html), /class="missing"/)
  })
}

test('in a private space, too, a page shows its own links as they are, and tells of no others', async (t) => {
  const uri = wiki.freshUri()
  const gate = createGate()
  const other = await startStore(t, uri)
  await other.store.save('target', { content: 'text' })
  /** @type {import('../src/pages/link-targets.js').MayTell} */
  const mayTell = async (page) => (name) => page !== '' && name !== 'elsewhere'
  const linker = await startStore(t, uri, { ...gate, mayTell })
  const linked = linker.store.save('linking', { content: '[[target]] [[elsewhere]]' })
  await gate.isReached
  await other.store.remove('target')
  gate.open()
  await linked
  await linker.store.save('kept', { content: '[[none]] [[elsewhere]]' })
  await linker.queue.open()
  await linker.untilDone()
  assert.equal((await linker.pages.findOne({ links: 'none' }))?.links_outdated, null)
  const html = String((await linker.store.findView('linking'))?.html)
  assert.deepEqual(html.match(/class="missing"[^>]*>[^<]*/g)?.map((each) => each.split('>')[1]), ['target'], html)
})

test('what a process that died had to count is counted by another one, once', async (t) => {
  const uri = wiki.freshUri()
  const dying = await startStore(t, uri)
  for (const name of ['a', 'b', 'c']) await dying.store.save(name, { content: '[[wanted]]', tags: ['one'] })
  assert.equal(await dying.entries.countDocuments(), 3)
  assert.equal(judge([], [], { ...await stored(uri), queue: [] }).torn_counts, 2, 'nothing is counted yet')
  assert.equal(judge([], [], await stored(uri)).torn_counts, 0, 'with what the queue has')
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await untilCounted(app)
  assert.match((await get(app, '/api/v1/wanted')).body, /"name":"wanted","sources":3/)
  assert.match((await get(app, '/api/v1/tags')).body, /"tag":"one","pages":3/)
})

test('counts that come in another order than their edits end right, and leave nothing behind', async (t) => {
  const uri = wiki.freshUri()
  const { store, queue, entries, targets, untilDone } = await startStore(t, uri)
  await store.save('a', { content: '[[wanted]]', tags: ['one'] })
  const [first] = await entries.find().toArray()
  await entries.deleteMany({})
  await store.save('a', { content: 'nothing', tags: [] })
  await queue.open()
  await untilDone()
  assert.equal((await targets.findOne({ _id: /** @type {any} */ ('wanted') }))?.sources, -1)
  await entries.insertOne(first)
  await untilDone()
  assert.equal(await targets.findOne({ _id: /** @type {any} */ ('wanted') }), null)
  assert.equal(judge([], [], await stored(uri)).torn_counts, 0)
})

test('one entry that cannot be counted is set aside, and the others beside it are counted', async (t) => {
  const uri = wiki.freshUri()
  const { store, queue, entries, lines, untilDone } = await startStore(t, uri)
  await store.save('a', { content: '[[wanted]]', tags: ['one'] })
  await entries.updateOne({ name: 'a' }, { $set: { 'content.links': 'no list' } })
  for (const name of ['b', 'c']) await store.save(name, { content: '[[wanted]]' })
  await queue.open()
  await untilDone()
  const left = await entries.find().toArray()
  assert.deepEqual(left.map(({ name, failures }) => [name, failures]), [['a', QUICK.failuresMax]])
  // It is set aside in the database first, and logged after.
  assert.ok(await waitUntil(() => lines.some((line) => /given up/.test(line)), WAIT_MAX_MS), lines.join('\n'))
  const { targets } = await stored(uri)
  assert.equal(targets.find(({ _id }) => _id === 'wanted')?.sources, 2)
})

test('an edit that changes no link and no tag leaves nothing to count', async (t) => {
  const uri = wiki.freshUri()
  const { store, entries } = await startStore(t, uri)
  await store.save('a', { content: 'text [[b]]', tags: ['one'] })
  await entries.deleteMany({})
  await store.save('a', { content: 'other text [[b]]', tags: ['one'] })
  assert.equal(await entries.countDocuments(), 0)
})

test('pages that one transaction creates, and that link to each other, are not purged by the count', async (t) => {
  const uri = wiki.freshUri()
  const { purged, ofCounted } = createEar()
  const { store, queue, untilDone } = await startStore(t, uri, { purges: { ofCounted } })
  const names = ['a', 'b', 'c', 'd']
  const content = names.map((name) => `[[${name}]]`).join(' ')
  const prepared = await store.prepare({ content })
  await Promise.all(names.map((name) =>
    store.commitTogether({ ...prepared, name, attribution: {}, precondition: () => {} })))
  await queue.open()
  await untilDone()
  assert.deepEqual(purged, [])
})

test('a rename counts the links of both names', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', '[[x]] [[y]]')
  await save(app, 'b', '[[a]] [[x]]')
  const renamed = await app.inject({ method: 'POST', url: '/api/v1/pages/a/rename', payload: { to: 'c' } })
  assert.equal(renamed.statusCode, 201)
  await untilCounted(app)
  const { items } = (await get(app, '/api/v1/wanted')).json()
  assert.deepEqual(items, [{ name: 'x', sources: 2 }, { name: 'y', sources: 1 }])
  assert.deepEqual((await get(app, '/api/v1/orphaned')).json().items.map((/** @type {any} */ { name }) => name), ['b'])
})
