import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { measureLoss } from '../torture/loss.js'
import { get, hold, readMetrics, save, submit, useWiki } from './helper.js'
import { accepted, settled } from './saves.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const IN_MEMORY = ['unsafe-async', 'unsafe-group', 'unsafe-bulk']
const wiki = useWiki()

/** @param {TestContext} t @param {Record<string, string>} settings */
async function build (t, settings) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri, ...settings })
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  return { app, db: client.db(), uri }
}

for (const strategy of IN_MEMORY) {
  test(`${strategy} answers before it stores, and says at an address what became of the save`, async (t) => {
    const { app, db, uri } = await build(t, { WRITE_STRATEGY: strategy })
    const release = await hold(t, db)
    const first = await accepted(app, 'News', 'Snow.')
    assert.deepEqual(first, {
      id: first.id,
      url: `/api/v1/saves/${first.id}?page=News`,
      name: 'News',
      status: 'pending',
      revision: null,
      problem: null
    })
    const second = await app.inject({ method: 'PUT', url: '/api/v1/pages/News', payload: { content: 'More snow.' } })
    assert.equal(second.statusCode, 202)
    assert.notEqual(second.json().id, first.id)
    assert.deepEqual((await get(app, first.url)).json(), first)
    assert.equal((await get(app, '/wiki/News')).statusCode, 404)
    assert.equal((await get(app, first.url.replace('News', 'Other'))).statusCode, 404, 'of this page alone')

    await release()
    assert.deepEqual(await settled(app, first), { ...first, status: 'saved', revision: 1 })
    assert.equal((await settled(app, second.json())).revision, 2)
    assert.match((await get(app, '/wiki/News')).body, /More snow/)
    const other = await wiki.build(t, { MONGODB_URI: uri })
    assert.equal((await get(other, first.url)).json().revision, 1, 'any wiki with the database knows it')
    const renamed = await app.inject({ method: 'POST', url: '/api/v1/pages/News/rename', payload: { to: 'Old news' } })
    assert.equal(renamed.statusCode, 201)
    assert.equal((await get(app, first.url)).json().status, 'saved', 'also after a renaming')
  })

  test(`${strategy} shows which saves failed and why, and stores the others`, async (t) => {
    const { app, db } = await build(t, { WRITE_STRATEGY: strategy })
    await db.command({ collMod: 'revisions', validator: { content: { $ne: 'refused' } } })
    await settled(app, await accepted(app, 'there', 'text'))
    const saves = [
      await accepted(app, 'there', 'not new', { 'if-none-match': '*' }),
      await accepted(app, 'other', 'refused'),
      await accepted(app, 'good', 'text')
    ]
    const [unmet, refused, good] = await Promise.all(saves.map((each) => settled(app, each)))
    assert.equal(unmet.status, 'failed')
    assert.deepEqual(unmet.problem, {
      type: 'about:blank',
      title: 'Precondition Failed',
      status: 412,
      detail: 'The page is not as you expect it: it is at revision 1. Nothing was changed.',
      current_revision: 1
    })
    assert.equal(refused.problem.status, 500)
    assert.doesNotMatch(JSON.stringify(refused), /validation/, 'what the database says is for the log alone')
    assert.equal(good.status, 'saved')
    assert.equal((await get(app, '/wiki/other')).statusCode, 404)
    assert.equal(await db.collection('revisions').countDocuments(), 2)
  })

  test(`${strategy} takes no more than its buffer holds, and goes on once that is stored`, async (t) => {
    const { app, db } = await build(t, { WRITE_STRATEGY: strategy, UNSAFE_RECORDS_MAX: '3', UNSAFE_MIB_MAX: '1' })
    const release = await hold(t, db)
    await accepted(app, 'a', 'x'.repeat(300_000))
    const tooLarge = await save(app, 'b', 'x'.repeat(500_000))
    assert.equal(tooLarge.statusCode, 503)
    await accepted(app, 'b', 'text')
    await accepted(app, 'c', 'text')
    const tooMany = await save(app, 'd', 'text')
    assert.equal(tooMany.statusCode, 503)
    assert.equal(tooMany.headers['retry-after'], '2')
    assert.match(tooMany.json().detail, /Nothing was changed; try again/)
    await release()
    assert.ok(await waitUntil(async () => (await save(app, 'd', 'text')).statusCode === 202, WAIT_MAX_MS))
    assert.ok(await waitUntil(async () => await db.collection('pages').countDocuments() === 4, WAIT_MAX_MS))
  })

  test(`${strategy} keeps the order of the saves of a page, also over a time without the database`, async (t) => {
    const { app, db } = await build(t, { WRITE_STRATEGY: strategy })
    const texts = Array.from({ length: 12 }, (_, index) => `text ${index}`)
    for (const text of texts) {
      await accepted(app, 'hot', text)
      await accepted(app, text, text)
    }
    const revisions = db.collection('revisions')
    assert.ok(await waitUntil(async () => await revisions.countDocuments() === 24, WAIT_MAX_MS))
    const stored = await revisions.find({ page: 'hot' }).sort({ revision: 1 }).toArray()
    assert.deepEqual(stored.map(({ content }) => content), texts)
  })

  test(`${strategy} loses nothing when a signal stops it with a full buffer`, async (t) => {
    const { trials: [{ acknowledged, lost, doubled }] } = await measureLoss({
      strategy, ending: 'SIGTERM', trials: 1, seed: 5, momentMs: [1_000, 1_500]
    })
    t.diagnostic(`${acknowledged} saves were acknowledged`)
    assert.deepEqual({ lost, doubled }, { lost: 0, doubled: 0 })
  })
}

test('what is refused is refused at once, and people and all other changes get what is stored', async (t) => {
  const { app } = await build(t, { WRITE_STRATEGY: 'unsafe-bulk', PAGE_MAX_BYTES: '1000' })
  assert.equal((await save(app, 'long', 'x'.repeat(1001))).statusCode, 413)
  const payload = { content: 'a', tags: ['\u200b'] }
  const badTag = await app.inject({ method: 'PUT', url: '/api/v1/pages/a', payload })
  assert.equal(badTag.statusCode, 400)
  const form = await submit(app, 'form', { content: 'by a person' })
  assert.equal(form.statusCode, 303)
  assert.match((await get(app, '/wiki/form')).body, /by a person/)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/form' })).statusCode, 204)
  const unknown = await get(app, `/api/v1/saves/${'A'.repeat(22)}?page=form`)
  assert.equal(unknown.statusCode, 404)
  assert.match(unknown.json().detail, /waits in another process of the wiki, or was lost/)
})

test('metrics and the status page say that saves are answered before they are stored', async (t) => {
  const [port] = await freePorts(1)
  const { app, db } = await build(t, { WRITE_STRATEGY: 'unsafe-bulk', METRICS_PORT: String(port) })
  const release = await hold(t, db)
  const [, failing] = [await accepted(app, 'a', 'text'), await accepted(app, 'b', 'text', { 'if-match': '"other"' })]
  assert.match((await readMetrics(port)).text, /^wiki_deferred_saves 2$/m)
  const { services, status } = (await get(app, '/status.json')).json()
  const saving = services.find((/** @type {any} */ { name }) => name === 'saving')
  assert.deepEqual([status, saving.strategy, saving.waiting.records], ['ok', 'unsafe-bulk', 2])
  assert.equal(saving.last_settled_at, null)
  assert.match((await get(app, '/status')).body, /WRITE_STRATEGY=unsafe-bulk<\/code>\): saves may be lost/)
  await release()
  await settled(app, failing)
  assert.ok(await waitUntil(async () => /^wiki_deferred_saves 0$/m.test((await readMetrics(port)).text), WAIT_MAX_MS))
  const { text } = await readMetrics(port)
  assert.match(text, /^wiki_deferred_saves_total\{outcome="saved"\} 1$/m)
  assert.match(text, /^wiki_deferred_saves_total\{outcome="failed"\} 1$/m)
  assert.match(text, /^wiki_deferred_batches_total 1$/m)
  assert.match(text, /^wiki_deferred_bytes 0$/m)
  const { services: after } = (await get(app, '/status.json')).json()
  const { last_settled_at: settledAt } = after.find((/** @type {any} */ { name }) => name === 'saving')
  const { failed_at: failedAt } = /** @type {any} */ (await db.collection('failed_saves').findOne({}))
  assert.ok(new Date(settledAt) >= failedAt, settledAt)
})
