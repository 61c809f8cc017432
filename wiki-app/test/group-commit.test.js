import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { readConfig } from '../src/config.js'
import { get, save, untilCounted, useWiki } from './helper.js'

const GROUP = { WRITE_STRATEGY: 'group-commit' }
/** A transaction starts once so many edits wait; a busy machine may take seconds for them. @param {number} edits */
const together = (edits) => ({ ...GROUP, GROUP_COMMIT_MAX: String(edits), GROUP_COMMIT_WAIT_MS: '10000' })
const wiki = useWiki()

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * @param {TestContext} t @param {Record<string, string>} settings
 * @returns an application, its database, and how many transactions with writes were committed in mongod since
 */
async function build (t, settings) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri, ...settings })
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const committed = async () => (await client.db().admin().serverStatus()).transactions.totalCommitted
  const before = await committed()
  return { app, uri, db: client.db(), transactions: async () => await committed() - before }
}

/** @param {number} count @returns {string[]} */
const names = (count) => Array.from({ length: count }, (_, index) => `page ${index}`)

/**
 * @param {import('mongodb').Db} db
 * @returns {Promise<Record<string, number[]>>} by page, its revisions, in the order of their numbers
 */
async function revisionsOf (db) {
  const all = await db.collection('revisions').find().sort({ page: 1, revision: 1 }).toArray()
  /** @type {Record<string, number[]>} */
  const byPage = {}
  for (const { page, revision, follows } of all) {
    assert.equal(follows, revision === 1 ? null : revision - 1, `${page}: the history is a line`)
    ;(byPage[page] ??= []).push(revision)
  }
  return byPage
}

test('edits that arrive together are one transaction, and each is answered with its own revision', async (t) => {
  const { app, db, transactions } = await build(t, together(20))
  const created = await Promise.all(names(20).map((name) => save(app, name, `about ${name}, see [[page 3]]`)))
  assert.deepEqual(created.map(({ statusCode }) => statusCode), Array(20).fill(201))
  assert.equal(await transactions(), 1)
  assert.deepEqual(Object.values(await revisionsOf(db)), Array(20).fill([1]))
  await untilCounted(app)
  const target = await db.collection('targets').findOne({ _id: /** @type {any} */ ('page 3') })
  assert.deepEqual({ is: target?.is, sources: target?.sources }, { is: 'page', sources: 19 })
  const { body } = await get(app, '/wiki/page%200')
  assert.match(body, /about page 0/)
  assert.doesNotMatch(body, /class="missing"/, 'a page of the same transaction is no missing one')
})

test('a transaction has no more edits than is set, and one that is not full starts after the wait', async (t) => {
  const { app, transactions } = await build(t, { ...together(4), GROUP_COMMIT_WAIT_MS: '2000' })
  await Promise.all(names(9).map((name) => save(app, name, 'text')))
  assert.equal(await transactions(), 3)
})

test('a refused edit leaves the others of its transaction alone', async (t) => {
  const { app, uri, db, transactions } = await build(t, together(4))
  await save(await wiki.build(t, { MONGODB_URI: uri }), 'page 1', 'first')
  const answers = await Promise.all(names(4).map((name) => save(app, name, 'new', { 'if-none-match': '*' })))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode), [201, 412, 201, 201])
  assert.match(answers[1].json().detail, /it is at revision 1/)
  assert.equal(await transactions(), 2)
  assert.deepEqual(await revisionsOf(db), { 'page 0': [1], 'page 1': [1], 'page 2': [1], 'page 3': [1] })
  assert.match((await get(app, '/wiki/page%201')).body, /first/)
})

test('edits of one page follow each other beside those of other pages', async (t) => {
  const { app, db } = await build(t, GROUP)
  const hot = Array.from({ length: 12 }, (_, index) => save(app, 'hot', `text ${index}`))
  const others = names(12).map((name) => save(app, name, 'text'))
  const revisions = (await Promise.all(hot)).map((answer) => answer.json().revision)
  await Promise.all(others)
  assert.deepEqual(revisions.sort((a, b) => a - b), Array.from({ length: 12 }, (_, index) => index + 1))
  assert.equal((await revisionsOf(db)).hot.length, 12)
})

test('a record that the database refuses fails alone', async (t) => {
  const { app, db } = await build(t, together(7))
  await db.command({ collMod: 'revisions', validator: { content: { $ne: 'refused' } } })
  const answers = await Promise.all(names(7).map((name, index) => save(app, name, index === 4 ? 'refused' : 'text')))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode), [201, 201, 201, 201, 500, 201, 201])
  const { 'page 4': refused, ...others } = await revisionsOf(db)
  assert.equal(refused, undefined)
  assert.equal(Object.keys(others).length, 6)
  assert.equal((await get(app, '/wiki/page%204')).statusCode, 404)
})

test('two wikis that commit groups of edits of the same pages lose none', async (t) => {
  const { app, uri, db } = await build(t, GROUP)
  const other = await wiki.build(t, { MONGODB_URI: uri, ...GROUP })
  const edits = Array.from({ length: 6 }, (_, round) => names(5).flatMap((name) =>
    [app, other].map((each) => save(each, name, `round ${round} [[page ${round}]]`)))).flat()
  const answers = await Promise.all(edits)
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))].sort(), [200, 201])
  const revisions = await revisionsOf(db)
  for (const name of names(5)) assert.equal(revisions[name].length, 12)
})

test('pages are created, deleted and linked to in one transaction as they would be one by one', async (t) => {
  const { app, db } = await build(t, together(3))
  await Promise.all(['a', 'b', 'b/sub'].map((name) => save(app, name, `[[a]] [[b]] [[c]] of ${name}`)))
  const answers = await Promise.all([
    app.inject({ method: 'DELETE', url: '/wiki/a' }),
    save(app, 'b/other', 'below, see [[a]]'),
    save(app, 'c', 'now there')
  ])
  assert.deepEqual(answers.map(({ statusCode }) => statusCode), [204, 201, 201])
  const { body } = await get(app, '/wiki/b')
  assert.match(body, /class="missing"[^>]*>a</)
  assert.doesNotMatch(body, /class="missing"[^>]*>c</)
  await untilCounted(app)
  const targets = await db.collection('targets').find().sort({ _id: 1 }).toArray()
  assert.deepEqual(
    targets.filter(({ _id }) => /^[abc]$/.test(String(_id))).map(({ _id, is, sources }) => [_id, is, sources]),
    [['a', null, 3], ['b', 'page', 1], ['c', 'page', 2]]
  )
})

test('settings outside their limits are refused', () => {
  const refused = (/** @type {Record<string, string>} */ settings) => assert.throws(() => readConfig(settings),
    new RegExp(`${Object.keys(settings)[0]}=.* is not allowed: it must be`))
  refused({ WRITE_STRATEGY: 'fast' })
  refused({ GROUP_COMMIT_MAX: '0' })
  refused({ GROUP_COMMIT_WAIT_MS: '10001' })
})
