import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { BROWSER, get, save, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'

const wiki = useWiki()

const REVERT = '/edit/revert-author'

/** @param {import('fastify').FastifyInstance} app @param {object} payload */
const revert = (app, payload) => app.inject({ method: 'POST', url: REVERT, headers: bearer('admin'), payload })

/** @param {import('fastify').FastifyInstance} app @param {string} name */
const raw = async (app, name) => {
  const { statusCode, body } = await get(app, `/raw/${name}`)
  return statusCode === 200 ? body : statusCode
}

/**
 * Creates an open wiki with a vandal's edits, and a wiki with sign-in on the same database.
 * @param {import('node:test').TestContext} t
 */
async function vandalised (t) {
  const MONGODB_URI = wiki.freshUri()
  const open = await wiki.build(t, { MONGODB_URI })
  const by = (/** @type {string} */ author) => (/** @type {string} */ name, /** @type {string} */ content) =>
    open.inject({ method: 'POST', url: `/wiki/${name}`, payload: { content, author } })
  const [ana, vandal] = [by('Ana'), by('vandal')]
  await ana('edited', 'good')
  await vandal('edited', 'bad')
  await vandal('edited', 'worse')
  await vandal('made', 'bad')
  await ana('deleted', 'good')
  await post(open, '/edit/delete/deleted', { author: 'vandal' })
  await ana('mended', 'good')
  await vandal('mended', 'bad')
  await ana('mended', 'good again')
  await vandal('gone', 'bad')
  await post(open, '/edit/delete/gone', { author: 'vandal' })
  await ana('untouched', 'good')
  return { ana, vandal, open, MONGODB_URI, app: await wiki.build(t, { ...peopleOnly(t), MONGODB_URI }) }
}

test('pages whose newest revision is the author’s are reverted by a new revision; others stay', async (t) => {
  const { app } = await vandalised(t)
  const answer = await revert(app, { author: 'vandal' })
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['cache-control'], 'private, no-store')
  assert.deepEqual(answer.json(), {
    author: 'vandal',
    done: 3,
    skipped: 1,
    next: null,
    pages: [
      { name: 'deleted', outcome: 'reverted', revision: 3, target: 1 },
      { name: 'edited', outcome: 'reverted', revision: 4, target: 1 },
      { name: 'gone', outcome: 'skipped', reason: 'it is deleted, as it was before' },
      { name: 'made', outcome: 'deleted', revision: 2 }
    ]
  })
  assert.deepEqual(
    await Promise.all(['edited', 'deleted', 'mended', 'untouched', 'made', 'gone'].map((name) => raw(app, name))),
    ['good', 'good', 'good again', 'good', 404, 404]
  )
  const { body } = await get(app, '/history/edited')
  assert.match(
    body,
    /revision 4<\/a>.*by <a [^>]*>admin<\/a>: <span dir="auto">Took back what “vandal” did: to revision 1</
  )
  assert.match((await get(app, '/revision/edited/3')).body, /worse/)
  assert.deepEqual((await revert(app, { author: 'vandal' })).json().done, 0, 'a second revert finds nothing to do')
})

test('an administrator gets a preview that changes nothing, and then a report of what changed', async (t) => {
  const { app } = await vandalised(t)
  const cookie = await cookieOf(app, 'admin')
  assert.match((await get(app, '/edit/sign-in', { ...BROWSER, ...cookie })).body, /href="\/edit\/revert-author"/)
  assert.doesNotMatch((await get(app, REVERT, cookie)).body, /What would happen</)
  const preview = await get(app, `${REVERT}?author=vandal&since=&limit=`, { ...BROWSER, ...cookie })
  assert.equal(preview.headers['cache-control'], 'private, no-store')
  const text = preview.body.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ')
  assert.match(
    text,
    /deleted from revision 2 back to 1 edited from revision 3 back to 1 gone stays: it is deleted, as it was before made is deleted/
  )
  assert.equal(await raw(app, 'edited'), 'worse', 'the preview changes nothing')

  const fields = Object.fromEntries(
    [...preview.body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
      .map(([, name, value]) => [name, value])
  )
  const report = await post(app, REVERT, fields, cookie)
  assert.equal(report.statusCode, 200)
  assert.match(report.body, /3 of 4 pages changed\./)
  assert.equal(await raw(app, 'edited'), 'good')
  assert.match(
    (await get(app, `${REVERT}?author=nobody`, cookie)).body,
    /Nothing: no page is at a revision of this author/
  )
  assert.match(
    (await get(app, `${REVERT}?${new URLSearchParams({ author: '"><script>' })}`, cookie)).body,
    /value="&quot;&gt;&lt;script&gt;"/
  )
})

test('with `since`, only the author’s later revisions are reverted; an invalid time gets 400', async (t) => {
  const { app } = await vandalised(t)
  const revisions = /** @type {import('mongodb').Db} */ (mongoose.connections[mongoose.connections.length - 1].db)
    .collection('revisions')
  await revisions.updateMany(
    { author: 'vandal', revision: { $lt: 3 } },
    { $set: { created_at: new Date('2026-01-01T12:00:00Z') } }
  )
  const { pages } = (await revert(app, { author: 'vandal', since: '2026-01-01T12:01' })).json()
  assert.deepEqual(pages, [{ name: 'edited', outcome: 'reverted', revision: 4, target: 2 }])
  assert.equal(await raw(app, 'edited'), 'bad')
  assert.equal((await revert(app, { author: 'vandal', since: '2026-01-01T12:00:00Z' })).json().done, 2)
  for (const since of ['yesterday', '2026-13-01', '2026-01-01T25:00', '2026', { $gt: '' }]) {
    assert.equal((await revert(app, { author: 'vandal', since })).statusCode, 400, String(since))
  }
})

test('with `limit`, pages are reverted in parts, and each response says where the next part begins', async (t) => {
  const { app } = await vandalised(t)
  const first = (await revert(app, { author: 'vandal', limit: 2 })).json()
  assert.deepEqual(
    [first.pages.map((/** @type {{name: string}} */ { name }) => name), first.next],
    [['deleted', 'edited'], 'edited']
  )
  const cookie = await cookieOf(app, 'admin')
  const second = await post(app, REVERT, { author: 'vandal', limit: '1', after: first.next }, cookie)
  assert.match(second.body, /There are more pages: go on with these\./)
  assert.match(second.body, /name="after" value="gone"/)
  assert.deepEqual((await revert(app, { author: 'vandal', limit: 1, after: 'gone' })).json().next, null)
  for (const limit of [0, 1_001, -1, 1.5, 'x']) {
    assert.equal((await revert(app, { author: 'vandal', limit })).statusCode, 400, String(limit))
  }
})

test('an edit that is saved during the revert is kept', async (t) => {
  const { MONGODB_URI, ana } = await vandalised(t)
  const app = await buildApp(readConfig({
    LOG_LEVEL: 'silent',
    WRITES_PER_MINUTE: '0',
    MONGODB_URI: `${MONGODB_URI}&monitorCommands=true`,
    ...peopleOnly(t)
  }))
  t.after(() => app.close())
  let found = false
  /** @type {Promise<unknown>[]} */
  const edits = []
  // Ana saves as soon as the `aggregate` has found the pages.
  mongoose.connections[mongoose.connections.length - 1].getClient().on('commandSucceeded', ({ commandName }) => {
    if (commandName === 'aggregate' && !found) {
      found = true
      edits.push(ana('made', 'good now'))
    }
  })
  const cookie = bearer('admin')
  const [answer] = await Promise.all([
    app.inject({ method: 'POST', url: REVERT, headers: cookie, payload: { author: 'vandal' } })
  ])
  await Promise.all(edits)
  assert.ok(found)
  assert.equal(answer.statusCode, 200)
  assert.equal(await raw(app, 'made'), 'good now')
})

test('only administrators may revert an author, never themselves; invalid input gets 400', async (t) => {
  const { app } = await vandalised(t)
  await save(app, 'own', 'x', bearer('admin'))
  const own = await revert(app, { author: 'admin' })
  assert.equal(own.statusCode, 400)
  assert.match(own.json().detail, /your own changes/)
  for (const payload of [
    {},
    { author: { $ne: '' } },
    { author: ['vandal'] },
    { author: 'a'.repeat(81) },
    { author: 'vandal', pages: 'all' }
  ]) {
    assert.equal((await revert(app, payload)).statusCode, 400)
  }
  assert.equal((await app.inject({
    method: 'POST',
    url: REVERT,
    headers: bearer('editor'),
    payload: { author: 'vandal' }
  })).statusCode, 403)
  assert.equal(await raw(app, 'edited'), 'worse')
})
