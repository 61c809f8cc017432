import assert from 'node:assert/strict'
import test from 'node:test'
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
  assert.match((await get(app, '/edit/text/old', BROWSER)).body, /action="\/edit\/rename\/old"/)

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
  const { body } = await get(app, '/')
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
  assert.equal((await get(app, '/history/a')).body.match(/<li>/g)?.length, 1)
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
