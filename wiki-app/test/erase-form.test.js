import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { erase, put, remove, SECRET } from './erasing.js'
import { BROWSER, get, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'

/** @typedef {import('node:test').TestContext} TestContext */

const wiki = useWiki()

/** @param {TestContext} t */
async function start (t) {
  const uri = wiki.freshUri()
  return { app: await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri }), uri }
}

test('the text that the page has now stays; of a deleted page all can go', async (t) => {
  const { app } = await start(t)
  await put(app, 'a', { content: 'first' })
  await put(app, 'a', { content: 'second' })
  const refused = await erase(app, 'a', { from: 1, to: 2 })
  assert.equal(refused.statusCode, 409)
  assert.match(refused.json().detail, /^Revision 2 is the text .* Save a text without the secret first/)
  assert.equal((await get(app, '/revision/a/1')).statusCode, 200, 'nothing of it was erased')
  await remove(app, 'a', 'gone')
  assert.equal((await erase(app, 'a', { from: 1, to: 3 })).json().erased, 3)
  await put(app, 'a', { content: 'anew' })
  assert.equal((await get(app, '/raw/a')).body, 'anew', 'the name can be used again')
  const none = await erase(app, 'a', { from: 1, to: 3 })
  assert.deepEqual([none.statusCode, /nothing left|anything left/.test(none.json().detail)], [409, true])
})

test('it takes an administrator, the name of the page and a reason; the list of acts says all three', async (t) => {
  const { app } = await start(t)
  const name = 'R&D/<script>alert(1)</script>'
  await put(app, name, { content: SECRET })
  await put(app, name, { content: 'clean' })
  const range = { from: 1, to: 1 }
  assert.equal((await erase(app, name, range, 'editor')).statusCode, 403)
  for (const [asked, detail] of /** @type {[object, RegExp][]} */ ([
    [{ confirm: 'R&D' }, /^Nothing was erased: type the name of the page, “R&D\/<script>alert\(1\)<\/script>”/],
    [{ reason: '  ' }, /^Nothing was erased: say why/],
    [{ reason: 'x\u202ey' }, /direction/],
    [{ reason: 'x'.repeat(201) }, /reason/],
    [{ from: 2, to: 1 }, /^The first revision has to be the older one/],
    [{ from: 0 }, /from/],
    [{ to: 1_000_000_000 }, /to/]
  ])) {
    const answer = await erase(app, name, { ...range, ...asked })
    assert.equal(answer.statusCode, 400, JSON.stringify(asked))
    assert.match(answer.json().detail, detail)
  }
  assert.equal((await erase(app, 'nothing here', range)).statusCode, 404)

  const cookie = await cookieOf(app, 'admin')
  const past = await get(app, `/revision/${encodeURIComponent(name)}/1`, BROWSER).then(({ headers, body }) =>
    headers.location ? get(app, String(headers.location), BROWSER).then((moved) => moved.body) : body)
  const [, href] = /href="(\/edit\/erase\/[^"]*)"[^>]*>Erase this revision…/.exec(past) ?? ['', '']
  const form = await get(app, href.replaceAll('&amp;', '&'), { ...BROWSER, ...cookie })
  assert.equal(form.statusCode, 200, `${href} ${form.headers.location}`)
  assert.match(form.body, /1 revision of “<bdi>R&amp;D\/&lt;script&gt;alert/)
  assert.doesNotMatch(form.body, /<script>alert/)
  assert.match(form.body, /What stays:<\/strong> their numbers, authors and times/)
  const [, action] = /<form method="post" action="(\/edit\/erase\/[^"]*)"/.exec(form.body) ?? ['', '']
  const reason = 'asked by <b>a court</b>'
  const done = await post(app, action.replaceAll('&amp;', '&'),
    { from: '1', to: '1', confirm: name, reason }, cookie)
  assert.equal(done.statusCode, 200, done.body)
  assert.match(done.body, /1 revision of [^]* is erased/)
  assert.doesNotMatch(done.body, /<script>alert/)

  const { acts } = (await get(app, '/edit/audit', { accept: 'application/json', ...bearer('admin') })).json()
  const [{ at, ...act }] = acts
  assert.deepEqual(act, { actor: 'admin', did: 'erased', to: name, revisions: '1', reason })
  assert.equal(acts.length, 1, 'what was refused is no act')
  const list = (await get(app, '/edit/audit', { ...BROWSER, ...cookie })).body
  assert.match(list, /<bdi>admin<\/bdi> erased the revisions 1 of <bdi>R&amp;D[^\n]*: <bdi>asked by &lt;b&gt;a court/)
})

test('in an open wiki nobody may erase, and it shows no link to it', async (t) => {
  const app = await wiki.build(t)
  await app.inject({ method: 'PUT', url: '/api/v1/pages/a', payload: { content: 'one' } })
  assert.doesNotMatch((await get(app, '/revision/a/1', BROWSER)).body, /Erase/)
  const answer = await app.inject({ method: 'POST', url: '/edit/erase/a', payload: {} })
  assert.equal(answer.statusCode, 404)
})

test('more revisions than one step takes are refused, and go in two', async (t) => {
  const { app, uri } = await start(t)
  await put(app, 'a', { content: 'one' })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const revisions = client.db().collection('revisions')
  const { _id, ...first } = /** @type {any} */ (await revisions.findOne())
  await revisions.insertMany(Array.from({ length: 130 }, (_, at) => ({ ...first, revision: at + 2, follows: at + 1 })))
  await client.db().collection('pages').updateOne({ _id: /** @type {any} */ ('a') }, { $set: { revision: 131 } })
  await put(app, 'a', { content: 'now' })
  const refused = await erase(app, 'a', { from: 1, to: 131 })
  assert.equal(refused.statusCode, 409)
  assert.match(refused.json().detail, /^There are more than 100 revisions from 1 to 131\./)
  assert.equal((await erase(app, 'a', { from: 1, to: 100 })).json().erased, 100)
  assert.equal((await erase(app, 'a', { from: 1, to: 131 })).json().erased, 31, 'those left')
})
