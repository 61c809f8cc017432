// Somebody brings an old text back while an administrator erases it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { createRenderer } from '../src/markdown/renderer.js'
import { erase, put, remove, SECRET } from './erasing.js'
import { BROWSER, get, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()

/**
 * @param {TestContext} t @param {Record<string, string>} [settings]
 * @returns the wiki, and what is done once between the moment when a text was read and the save of it
 */
async function start (t, settings = {}) {
  const uri = wiki.freshUri()
  const between = { work: async () => {} }
  /** @param {Parameters<typeof createRenderer>[0]} options */
  const makeRenderer = (options) => {
    const renderer = createRenderer(options)
    /** @type {typeof renderer.render} */
    const render = async (...given) => {
      const { work } = between
      between.work = async () => {}
      await work()
      return renderer.render(...given)
    }
    return { ...renderer, render }
  }
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri, ...settings }, {}, { makeRenderer })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return { app, client, between }
}

/** @param {App} app @param {string} url @param {object} payload */
const send = (app, url, payload) => app.inject({ method: 'POST', url, headers: bearer('admin'), payload })

/** @type {[string, string, string, object][]} */
const WAYS = [
  ['the form', 'sync', '/edit/revert/a', { revision: 1 }],
  ['the API', 'group-commit', '/api/v1/pages/a/revert', { revision: 1 }],
  ['undoing what an author did', 'sync', '/edit/revert-author', { author: 'editor' }]
]

for (const [way, strategy, url, payload] of WAYS) {
  test(`a text that is erased after ${way} has read it does not come back (${strategy})`, async (t) => {
    const { app, between } = await start(t, { WRITE_STRATEGY: strategy })
    await put(app, 'a', { content: SECRET }, 'admin')
    await put(app, 'a', { content: 'clean' })
    const erased = { statusCode: 0 }
    between.work = async () => { erased.statusCode = (await erase(app, 'a', { from: 1, to: 1 })).statusCode }
    const answer = await send(app, url, payload)
    assert.equal(erased.statusCode, 200)
    if (url === '/edit/revert-author') {
      const [page] = answer.json().pages
      assert.equal(page.outcome, 'skipped')
      assert.match(page.reason, /^An administrator has erased the text of revision 1/)
    } else {
      assert.equal(answer.statusCode, 410, answer.body)
      assert.match(answer.json().detail, /^An administrator has erased the text of revision 1/)
    }
    assert.equal((await get(app, '/raw/a')).body, 'clean')
  })
}

test('of a page that was renamed meanwhile nothing is brought back under the former name', async (t) => {
  const { app, between } = await start(t)
  await put(app, 'a', { content: SECRET })
  await put(app, 'a', { content: 'clean' })
  between.work = async () => {
    assert.equal((await send(app, '/api/v1/pages/a/rename', { to: 'b' })).statusCode, 201)
    assert.equal((await erase(app, 'b', { from: 1, to: 1 })).statusCode, 200)
  }
  const answer = await send(app, '/api/v1/pages/a/revert', { revision: 1 })
  assert.equal(answer.statusCode, 412, answer.body)
  assert.doesNotMatch((await get(app, '/raw/a')).body, new RegExp(SECRET))
})

test('a save that read the page before an erasure, and is committed after it, begins anew', async (t) => {
  const { app, client } = await start(t)
  await put(app, 'a', { content: SECRET })
  await put(app, 'a', { content: 'clean' })
  const pages = client.db().collection('pages')
  const session = client.startSession()
  t.after(() => session.endSession())
  session.startTransaction({ readConcern: { level: 'snapshot' } })
  const filter = { _id: /** @type {any} */ ('a') }
  assert.notEqual(await pages.findOne(filter, { session }), null)
  assert.equal((await erase(app, 'a', { from: 1, to: 1 })).statusCode, 200)
  const saving = pages.updateOne(filter, { $set: { revision: 3 } }, { session })
  await assert.rejects(saving, { codeName: 'WriteConflict' })
})

test('at once, either the text comes back and nothing is erased, or it is erased and stays away', async (t) => {
  const { app } = await start(t)
  for (let round = 0; round < 8; round++) {
    const name = `a${round}`
    await put(app, name, { content: SECRET })
    await put(app, name, { content: 'clean' })
    const [back, gone] = await Promise.all([
      send(app, `/api/v1/pages/${name}/revert`, { revision: 1 }),
      erase(app, name, { from: 1, to: 1, newest: 2 })
    ])
    const { body } = await get(app, `/raw/${name}`)
    const outcome = [back.statusCode, gone.statusCode, body].join(' ')
    assert.ok([`200 409 ${SECRET}`, '410 200 clean'].includes(outcome), outcome)
  }
})

test('a page that changed since the form was opened is looked at again first', async (t) => {
  const { app } = await start(t)
  const cookie = await cookieOf(app, 'admin')
  await put(app, 'a', { content: SECRET })
  await put(app, 'a', { content: 'clean' })
  const open = async () => {
    const { body } = await get(app, '/edit/erase/a?from=1&to=1', { ...BROWSER, ...cookie })
    return /name="newest" value="(\d+)"/.exec(body)?.[1] ?? ''
  }
  const newest = await open()
  assert.equal(newest, '2')
  await put(app, 'a', { content: `${SECRET} again` })
  const fields = { from: '1', to: '1', confirm: 'a', reason: 'a password' }
  const refused = await post(app, '/edit/erase/a', { ...fields, newest }, cookie)
  assert.equal(refused.statusCode, 409)
  assert.match(refused.body, /“a” has a newer revision, 3, [^]*href="\/history\/a">Its history/)
  await remove(app, 'a', 'all of it')
  assert.equal((await erase(app, 'a', { from: 1, to: 1, newest: 3 })).statusCode, 409, 'a deletion is one, too')
  assert.equal((await erase(app, 'a', { from: 1, to: 1, newest: 0 })).statusCode, 400)
  assert.equal((await post(app, '/edit/erase/a', { ...fields, newest: await open() }, cookie)).statusCode, 200)
  assert.equal((await erase(app, 'a', { from: 2, to: 4 })).json().erased, 3, 'programs may leave it out')
})

test('a name without a page that a restored backup gave its last text loses it with the next erasure', async (t) => {
  const { app, client } = await start(t)
  await put(app, 'gone', { content: SECRET })
  await remove(app, 'gone', 'by mistake')
  const pages = client.db().collection('pages')
  const filter = { _id: /** @type {any} */ ('gone') }
  await pages.updateOne(filter, { $set: { content: SECRET, content_bytes: SECRET.length } })
  assert.equal((await erase(app, 'gone', { from: 1, to: 1 })).statusCode, 200)
  const kept = await pages.findOne(filter)
  assert.deepEqual([kept?.content, kept?.content_bytes], ['', 0])
})
