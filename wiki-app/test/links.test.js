import assert from 'node:assert/strict'
import test from 'node:test'
import { get, save, untilCounted, useWiki } from './helper.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * Returns the names in a list, in their order.
 * @param {App} app
 * @param {string} url
 */
async function listed (app, url) {
  const { body } = await get(app, url)
  return [...body.matchAll(/<li><a href="[^"]*" dir="auto"[^>]*>([^<]*)<\/a>/g)].map(([, name]) => name)
}

/**
 * @param {App} app
 * @param {string} name
 */
const remove = (app, name) => app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(name)}` })

/**
 * @param {App} app
 * @param {string} name
 * @param {string} to
 */
const rename = (app, name, to) =>
  app.inject({ method: 'POST', url: `/edit/rename/${encodeURIComponent(name)}`, payload: { to } })

/** @param {string} name */
const isMissing = (name) => new RegExp(`<a(?=[^>]* class="missing")[^>]*href="/edit/new/${name}"`)

test('a link to a missing page is marked until the page is created, and again after it is deleted', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'see [b](/wiki/b) and [myself](/wiki/a)')
  const red = await get(app, '/wiki/a')
  assert.match(red.body, isMissing('b'))
  assert.doesNotMatch(red.body, isMissing('a'), 'a link of a page to itself is not marked')

  await save(app, 'b', 'text')
  const blue = await get(app, '/wiki/a', { 'if-none-match': String(red.headers.etag) })
  assert.equal(blue.statusCode, 200, 'the changed link changes the entity tag')
  assert.doesNotMatch(blue.body, isMissing('b'))
  assert.equal(blue.headers['page-revision'], '1', 'the page has no new revision')
  assert.ok(Date.parse(String(blue.headers['last-modified'])) >= Date.parse(String(red.headers['last-modified'])))
  assert.equal((await get(app, '/wiki/a', { 'if-none-match': String(blue.headers.etag) })).statusCode, 304)

  await remove(app, 'b')
  assert.match((await get(app, '/wiki/a')).body, isMissing('b'))
})

test('a link to the former name of a page is not marked as missing', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'old', 'text')
  await save(app, 'a', '[old](/wiki/old) [new](/wiki/new)')
  assert.match((await get(app, '/wiki/a')).body, isMissing('new'))
  await rename(app, 'old', 'new')
  const { body } = await get(app, '/wiki/a')
  assert.doesNotMatch(body, isMissing('old'))
  assert.doesNotMatch(body, isMissing('new'))
  assert.deepEqual(await listed(app, '/links/new'), ['a'])
})

test('the backlinks of a page include links to its former name', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'home', 'text')
  await save(app, 'B', '[home](/wiki/home)')
  await save(app, 'a', '[home](/wiki/home)')
  await save(app, 'c', '[other](/wiki/other)')
  assert.deepEqual(await listed(app, '/links/home'), ['a', 'B'], 'sorted by title, ignoring case')
  await rename(app, 'home', 'start')
  await save(app, 'd', '[start](/wiki/start)')
  assert.deepEqual(await listed(app, '/links/start'), ['a', 'B', 'd'])
  await save(app, 'B', 'no link any more')
  assert.deepEqual(await listed(app, '/links/start'), ['a', 'd'])
  assert.match((await get(app, '/links/nowhere')).body, /No page links here/)
})

test('wanted pages are sorted by the number of pages that link to them, orphaned pages by name', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', '[x](/wiki/x) [y](/wiki/y) [x again](/wiki/x)')
  await save(app, 'b', '[y](/wiki/y) [a](/wiki/a)')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/wanted'), ['y', 'x'])
  assert.match((await get(app, '/wanted')).body, /2 pages link to it[^]*1 page links to it/)
  assert.deepEqual(await listed(app, '/orphaned'), ['b'])

  await save(app, 'y', 'written')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/wanted'), ['x'])
  assert.deepEqual(await listed(app, '/orphaned'), ['b'])
  await save(app, 'a', 'no links')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/wanted'), [])
  await remove(app, 'b')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/orphaned'), ['a', 'y'])
  await rename(app, 'a', 'z')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/orphaned'), ['y'], 'the redirect from the former name counts as a link')
  await save(app, 'a', 'another page')
  await untilCounted(app)
  assert.deepEqual(await listed(app, '/orphaned'), ['a', 'y', 'z'])
})

test('the parts of a long list neither skip nor repeat an entry', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', Array.from({ length: 60 }, (_, index) => `[w](/wiki/want${index})`).join(' '))
  await save(app, 'b', '[w](/wiki/want7)')
  await untilCounted(app)
  const first = await get(app, '/wanted')
  const [, next] = /<a href="([^"]*)" rel="next">/.exec(first.body) ?? []
  const names = [...await listed(app, '/wanted'), ...await listed(app, next.replaceAll('&amp;', '&'))]
  assert.equal(names[0], 'want7')
  assert.equal(new Set(names).size, 60)
  assert.equal(names.length, 60)
})

test('a link is not marked as missing when another process creates its target at the same time', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  for (let round = 0; round < 20; round++) {
    await Promise.all([
      save(apps[0], `from${round}`, `[to](/wiki/to${round})`),
      save(apps[1], `to${round}`, 'text')
    ])
    await untilCounted(apps[0])
    assert.doesNotMatch(
      (await get(apps[round % 2], `/wiki/from${round}`)).body,
      isMissing(`to${round}`),
      `round ${round}`
    )
  }
  await untilCounted(apps[0])
  assert.deepEqual(await listed(apps[0], '/wanted'), [])
})

test('a page marks none of its links as missing after all their targets are created at once', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
  await save(apps[0], 'hub', names.map((name) => `[${name}](/wiki/${name})`).join(' '))
  await Promise.all([
    ...names.map((name, index) => save(apps[index % 2], name, 'text')),
    ...names.map((_, index) => get(apps[index % 2], '/wiki/hub'))
  ])
  assert.doesNotMatch((await get(apps[0], '/wiki/hub')).body, /class="missing"/)
})
