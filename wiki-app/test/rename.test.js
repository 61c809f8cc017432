import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { judge } from '../torture/oracle.js'
import { stored } from '../torture/torture.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 * @param {Record<string, string>} fields
 * @param {Record<string, string>} [headers]
 */
const rename = (app, name, fields, headers = {}) => app.inject({
  method: 'POST',
  url: `/edit/rename/${encodeURIComponent(name)}`,
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  payload: new URLSearchParams(fields).toString()
})

test('a renamed page keeps its history, and all URLs of the old name redirect to the new one', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'old', 'first')
  await save(app, 'old', 'second')
  assert.match((await get(app, '/edit/rename/old', BROWSER)).body, /action="\/edit\/rename\/old"/)

  const renamed = await rename(app, 'old', { to: ' New  name ', base_revision: '2', author: 'Ana' }, BROWSER)
  assert.equal(renamed.statusCode, 303)
  assert.equal(renamed.headers.location, '/wiki/New%20name?saved=3')
  const page = await get(app, '/wiki/New%20name')
  assert.match(page.body, /<h1[^>]*>New name<\/h1>[^]*<p>second<\/p>/)
  assert.equal(page.headers['page-revision'], '3')

  const old = await get(app, '/wiki/old')
  assert.equal(old.statusCode, 302)
  assert.equal(old.headers.location, '/wiki/New%20name')
  assert.equal(old.headers['cache-control'], 'public, max-age=180')
  assert.equal(old.headers['page-revision'], '3')
  for (const [from, to] of [
    ['/history/old', '/history/New%20name'],
    ['/revision/old/1', '/revision/New%20name/1'],
    ['/raw/old', '/raw/New%20name'],
    ['/difference/old?from=1&to=2', '/difference/New%20name?from=1&to=2']
  ]) {
    const { statusCode, headers } = await get(app, from)
    assert.deepEqual([statusCode, headers.location], [302, to])
    assert.equal((await get(app, to)).statusCode, 200, to)
  }
  assert.match((await get(app, '/history/New%20name')).body, /Renamed from “old”[^]*revision 2[^]*revision 1</)
  const { body } = await get(app, '/pages')
  assert.match(body, />New name</)
  assert.doesNotMatch(body, />old</)
})

test('after a rename the old name is free, for a new page with its own history or to rename back', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text of a')
  await rename(app, 'a', { to: 'b' })
  assert.equal((await rename(app, 'b', { to: 'a' })).statusCode, 201)
  assert.equal((await get(app, '/wiki/b')).headers.location, '/wiki/a')
  await rename(app, 'a', { to: 'b' })

  const created = await save(app, 'a', 'another page')
  assert.equal(created.statusCode, 201)
  assert.ok(created.json().revision > 3, 'revision numbers of a name only grow')
  assert.match((await get(app, '/wiki/a')).body, /another page/)
  assert.match((await get(app, '/wiki/b')).body, /text of a/)
  assert.equal((await get(app, '/history/a')).body.match(/href="\/revision\/a\/\d+"/g)?.length, 1)
  assert.doesNotMatch(
    (await get(app, '/history/a')).body,
    /\/difference\//,
    'its first revision has no older one to compare with'
  )
})

test('a rename to a taken, reserved or invalid name, or from a stale form, changes nothing', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await save(app, 'b', 'text')
  await save(app, 'gone', 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  for (const [name, fields, status] of /** @type {[string, Record<string, string>, number][]} */ ([
    ['a', { to: 'b' }, 409],
    ['a', { to: 'a' }, 409],
    ['a', { to: 'gone' }, 409],
    ['a', { to: 'stevec' }, 400],
    ['a', { to: 'x//y' }, 400],
    ['a', { to: '' }, 400],
    ['a', {}, 400],
    ['a', { to: 'c', base_revision: '7' }, 412],
    ['none', { to: 'c' }, 404],
    ['gone', { to: 'c' }, 404]
  ])) assert.equal((await rename(app, name, fields)).statusCode, status, `${name} ${JSON.stringify(fields)}`)
  assert.equal((await rename(app, 'a', { to: 'c' }, { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '1')
  assert.equal((await get(app, '/wiki/c')).statusCode, 404)
})

test('of two simultaneous renames to the same name one succeeds and the other gets 409', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  await save(apps[0], 'a', 'text of a')
  await save(apps[0], 'b', 'text of b')
  const statuses = (await Promise.all([
    rename(apps[0], 'a', { to: 'c' }),
    rename(apps[1], 'b', { to: 'c' })
  ])).map(({ statusCode }) => statusCode)
  assert.deepEqual(statuses.sort(), [201, 409])
  const pages = await Promise.all(['/wiki/a', '/wiki/b', '/wiki/c'].map((url) => get(apps[0], url)))
  assert.deepEqual(pages.map(({ statusCode }) => statusCode).sort(), [200, 200, 302])
})

test('a page is renamed with all its subpages: redirects, links and histories go along', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Guide', 'see [[Guide/Install]]')
  await save(app, 'Guide/Install', 'for [[Guide/Install/Linux]]')
  await save(app, 'Guide/Install/Linux', 'text')
  await save(app, 'Guide 2', 'is another page, as [[Guide/Install]] says')
  const form = (await get(app, '/edit/rename/Guide', BROWSER)).body
  assert.match(form, /<input type="checkbox" name="subpages" value="true">[^]*Install/)
  assert.doesNotMatch((await get(app, '/edit/rename/Guide%202', BROWSER)).body, /name="subpages"/)

  const renamed = await rename(app, 'Guide',
    { to: 'Manual', subpages: 'true', summary: 'one word less', author: 'Ana' })
  assert.equal(renamed.statusCode, 201)
  assert.deepEqual(renamed.json(), { name: 'Manual', revision: 2, subpages: 2 })
  for (const [from, to] of [
    ['Guide', 'Manual'], ['Guide/Install', 'Manual/Install'], ['Guide/Install/Linux', 'Manual/Install/Linux']
  ]) {
    assert.equal((await get(app, `/wiki/${from}`)).headers.location, `/wiki/${to}`)
    assert.equal((await get(app, `/wiki/${to}`)).headers['page-revision'], '2')
    assert.match((await get(app, `/history/${to}`)).body,
      new RegExp(`by <a[^>]*>Ana</a>: [^]*Renamed from “${from}”: one word`))
  }
  assert.match((await get(app, '/wiki/Manual')).body, /<nav class="subpages"[^]*href="\/wiki\/Manual\/Install"/)
  for (const page of ['Manual', 'Manual/Install', 'Guide%202']) {
    assert.doesNotMatch((await get(app, `/wiki/${page}`)).body, /class="missing"/, page)
  }
  const back = await app.inject({
    method: 'POST', url: '/api/v1/pages/Manual/rename', payload: { to: 'Books/Guide', subpages: true }
  })
  assert.deepEqual([back.statusCode, back.json()], [201, { name: 'Books/Guide', revision: 3, subpages: 2 }])
  assert.equal((await get(app, '/wiki/Books/Guide/Install/Linux')).statusCode, 200)

  assert.equal((await rename(app, 'Books/Guide', { to: 'Alone' })).json().subpages, 0)
  assert.equal((await get(app, '/wiki/Books/Guide/Install')).statusCode, 200, 'without the box, subpages stay')
})

test('a rename with subpages changes nothing when one of their new names is taken or too long', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  for (const name of ['a', 'a/x', 'a/y', 'a/z', 'b/x', 'b/z', 'a/long name', 'a/b']) await save(app, name, 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/b%2Fz' })
  const before = await get(app, '/changes')
  const taken = await rename(app, 'a', { to: 'b', subpages: 'true' })
  assert.equal(taken.statusCode, 409)
  assert.match(taken.json().detail, /these names have pages, or the histories of deleted ones: “b\/x”, “b\/z”\.$/)
  const long = await rename(app, 'a', { to: 'c'.repeat(195), subpages: 'true' })
  assert.equal(long.statusCode, 409)
  assert.match(long.json().detail, /“c+\/long name” cannot be the name of a page/)
  assert.equal((await rename(app, 'a', { to: 'a', subpages: 'true' })).statusCode, 409)
  assert.equal((await rename(app, 'a', { to: 'c', subpages: 'true', base_revision: '7' })).statusCode, 412)
  assert.equal((await rename(app, 'a', { to: 'c', subpages: 'maybe' })).statusCode, 400)
  assert.equal((await get(app, '/changes')).body, before.body)

  assert.equal((await rename(app, 'a', { to: 'a/b', subpages: 'true' })).statusCode, 409)
  assert.equal((await rename(app, 'a', { to: 'a/new', subpages: 'true' })).statusCode, 201,
    'a page may move below itself')
  assert.equal((await get(app, '/wiki/a/x')).headers.location, '/wiki/a/new/x')
})

test('of two renames with subpages to names that overlap, one succeeds whole and the other gets 409', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  for (const name of ['a', 'a/x', 'b', 'b/x', 'b/y']) await save(apps[0], name, `text of ${name}`)
  const answers = await Promise.all(['a', 'b'].map((name, index) =>
    rename(apps[index], name, { to: 'c', subpages: 'true' })))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409])
  const [winner, loser] = answers[0].statusCode === 201 ? ['a', 'b'] : ['b', 'a']
  assert.match((await get(apps[0], '/wiki/c/x')).body, new RegExp(`text of ${winner}/x`))
  assert.match((await get(apps[0], `/wiki/${loser}/x`)).body, new RegExp(`text of ${loser}/x`))
})

test('at most 100 subpages are renamed with a page; with more it is refused with their number', async (t) => {
  const uri = wiki.freshUri()
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  // MongoDB's default: a busy machine takes longer than the ten seconds that other tests have.
  await client.db('admin').command({ setParameter: 1, transactionLifetimeLimitSeconds: 60 })
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'a', 'text')
  for (let index = 0; index < 100; index++) await save(app, `a/${index}`, 'text')
  const renamed = await rename(app, 'a', { to: 'b', subpages: 'true' })
  assert.equal(renamed.statusCode, 201, renamed.body)
  assert.equal(renamed.json().subpages, 100)
  await save(app, 'b/more', 'text')
  const refused = await rename(app, 'b', { to: 'c', subpages: 'true' })
  assert.equal(refused.statusCode, 409)
  assert.match(refused.json().detail, /the page has 101 subpages, and at most 100/)
  assert.equal((await get(app, '/wiki/b/99')).statusCode, 200)

  await save(app, 'd', 'text')
  for (let index = 0; index < 5; index++) await save(app, `d/${index}`, 'word '.repeat(200_000))
  const long = await rename(app, 'd', { to: 'e', subpages: 'true' })
  assert.equal(long.statusCode, 409)
  assert.match(long.json().detail, /more than 4 MB/)
})

test('a rename writes to no revision, and a page under a former name has a history of its own', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const revisions = client.db().collection('revisions')
  for (const text of ['one', 'two', 'three']) await save(app, 'a', text)
  const before = await revisions.find().sort({ _id: 1 }).toArray()
  await rename(app, 'a', { to: 'b' })
  assert.deepEqual(await revisions.find().sort({ _id: 1 }).limit(3).toArray(), before)

  const history = async (/** @type {string} */ name) => (await get(app, `/api/v1/pages/${name}/revisions`)).json().items
    .map((/** @type {any} */ item) => `${item.name} ${item.revision}`)
  assert.deepEqual(await history('b'), ['b 4', 'b 3', 'b 2', 'b 1'])
  await save(app, 'a', 'another page')
  assert.deepEqual(await history('a'), ['a 5'])
  await rename(app, 'a', { to: 'c' })
  await rename(app, 'b', { to: 'a' })
  assert.deepEqual([await history('a'), await history('c')], [['a 7', 'a 4', 'a 3', 'a 2', 'a 1'], ['c 6', 'c 5']])
  assert.equal((await get(app, '/api/v1/pages/a/revisions/2')).json().content, 'two')
  assert.equal((await get(app, '/api/v1/pages/c/revisions/5')).json().content, 'another page')
  const { items } = (await get(app, '/api/v1/changes')).json()
  assert.deepEqual(items.map((/** @type {any} */ item) => `${item.name} ${item.revision}`),
    ['a 7', 'c 6', 'c 5', 'a 4', 'a 3', 'a 2', 'a 1'], 'each change under the name that its page has now')
  assert.equal((await app.inject({
    method: 'POST', url: '/api/v1/pages/a/revert', payload: { revision: 1 }
  })).statusCode, 200)
  assert.match((await get(app, '/wiki/a')).body, /<p>one<\/p>/)
  assert.equal(judge([], [], await stored(uri)).torn_pages, 0)
})
