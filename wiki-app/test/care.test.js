import assert from 'node:assert/strict'
import test from 'node:test'
import { fillWiki, nameOf } from '../bench/fill.js'
import { BROWSER, get, save, submit, untilCounted, useWiki } from './helper.js'
import { peopleOnly } from './people.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

const API = '/api/v1'

/** @param {App} app @param {string} name */
const remove = (app, name) => app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(name)}` })

/** @param {App} app @param {string} name @param {string} to */
const rename = (app, name, to) =>
  app.inject({ method: 'POST', url: `/edit/rename/${encodeURIComponent(name)}`, payload: { to } })

/** @param {App} app @param {string} url  of a list of the API @returns {Promise<string[]>} names in its first part */
const named = async (app, url) =>
  (await get(app, API + url)).json().items.map((/** @type {{name: string}} */ { name }) => name)

/** @param {App} app @returns {Promise<string>} the name of the page that a random draw leads to */
async function draw (app) {
  const { statusCode, headers } = await get(app, '/random', BROWSER)
  assert.equal(statusCode, 302)
  const [, name] = /^\/wiki\/(.+)$/.exec(String(headers.location)) ?? []
  return decodeURIComponent(name)
}

test('a random page of an empty wiki is none, and the answer says what to do', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Gone', '[[Wanted]]')
  await remove(app, 'Gone')
  await untilCounted(app)
  const { statusCode, headers, body } = await get(app, '/random', BROWSER)
  assert.equal(statusCode, 404)
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(body, /There are no pages yet[^]*Write the first one/)
})

test('a random page is an existing one, each is drawn, and neither caches nor crawlers keep the way', async (t) => {
  const app = await wiki.build(t)
  const names = ['Home', 'C++ & Č/sub', '"><script>alert(1)</script>', 'new']
  for (const name of ['Gone', 'old', ...names.slice(0, 3)]) {
    assert.equal((await save(app, name, '[[Wanted]]')).statusCode, 201, name)
  }
  await remove(app, 'Gone')
  await rename(app, 'old', 'new')
  const drawn = new Set()
  // That one of four stays out has a chance of 4 × 0.75^200.
  for (let count = 0; count < 200; count++) drawn.add(await draw(app))
  assert.deepEqual([...drawn].sort(), [...names].sort())

  const { headers } = await get(app, '/random', BROWSER)
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-robots-tag'], 'noindex')
  assert.match((await get(app, '/pages', BROWSER)).body, /<a href="\/random" rel="nofollow">Random page<\/a>/)
})

test('in a wiki of 300 pages a few hundred draws reach most of them, and none far too often', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: 300, revisions: 1 })
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const names = Array.from({ length: 300 }, (_, number) => nameOf(number))
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (let count = 0; count < 1_500; count++) {
    const name = await draw(app)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  assert.ok([...counts.keys()].every((name) => names.includes(name)))
  // An even draw reaches 298 on average; the first page after a random point alone would reach 250, and one of these
  // some 30 times.
  assert.ok(counts.size > 280, `${counts.size} pages`)
  assert.ok(Math.max(...counts.values()) < 25, `one of them ${Math.max(...counts.values())} times`)
})

test('the home page is no orphan, and a former name is neither an orphan nor a dead end', async (t) => {
  const app = await wiki.build(t, { HOME_PAGE: 'Start' })
  await save(app, 'Start', 'Welcome.')
  await save(app, 'alone', 'see [[Start]]')
  await save(app, 'linked', '[[alone/below]]')
  await save(app, 'Home', '[[linked]]')
  await save(app, 'Gone', 'text')
  await remove(app, 'Gone')
  await rename(app, 'linked', 'moved')
  await untilCounted(app)
  assert.deepEqual(await named(app, '/orphaned'), ['alone', 'Home'], 'only the page at / is left out')
  assert.deepEqual(await named(app, '/dead-ends'), ['Start'])
  assert.deepEqual(await named(app, '/wanted'), ['alone/below'], 'a link to a former name leads to the page')
})

test('a dead end is a page without a link, until it gets one', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'b', 'see https://elsewhere.example and [below](#below)')
  await save(app, 'a', 'text')
  await save(app, 'c', '[[nowhere]]')
  const { items } = (await get(app, `${API}/dead-ends`)).json()
  assert.deepEqual(items.map((/** @type {any} */ { name, revision }) => [name, revision]), [['a', 1], ['b', 1]])
  await save(app, 'b', '[[a]]')
  assert.deepEqual(await named(app, '/dead-ends'), ['a'])
  await save(app, 'b', 'no link')
  await remove(app, 'a')
  assert.deepEqual(await named(app, '/dead-ends'), ['b'])
})

test('a page with a tag of a day that is over is overdue, the oldest first, until it gets another day', async (t) => {
  const app = await wiki.build(t)
  const tag = (/** @type {string} */ name, /** @type {string} */ tags) => submit(app, name, { content: 'text', tags })
  const day = (/** @type {number} */ days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const overdue = async (url = '/overdue') => [...(await get(app, url, BROWSER)).body
    .matchAll(/<li><a href="[^"]*" dir="auto">([^<]*)<\/a> <time datetime="\d{4}-\d\d-\d\d">/g)].map(([, name]) => name)
  await tag('yesterday', `review ${day(-1)}, guide`)
  await tag('z', 'review 2020-09-30')
  await tag('b/c', 'Review  2020-10-01')
  await tag('B', 'review 2020-10-01')
  await tag('later', `review ${day(1)}`)
  await tag('unreadable', 'review 2020-9-1, review 1 time, reviewed 2020-01-01, review 2020-01-01 or so')
  await tag('gone', 'review 2020-01-01')
  await remove(app, 'gone')
  await untilCounted(app)
  assert.deepEqual(await overdue(), ['z', 'B', 'b/c', 'yesterday'])
  assert.deepEqual(await overdue('/overdue?after=2020-10-01+B'), ['b/c', 'yesterday'])
  assert.deepEqual(await overdue('/overdue?after=2020-10-01+x'), ['yesterday'])
  assert.equal((await get(app, '/overdue?after=2020-10-01', BROWSER)).statusCode, 400)
  const { body } = await get(app, '/care', BROWSER)
  assert.match(body, /href="\/wiki\/z" dir="auto">z<\/a> <time datetime="2020-09-30">2020-09-30/)
  assert.match((await get(app, '/wiki/z', BROWSER)).body, /review 2020-09-30/, 'the page says it, too')

  await tag('z', `review ${day(365)}`)
  await tag('B', '')
  await untilCounted(app)
  assert.deepEqual(await overdue(), ['b/c', 'yesterday'])
  for (let index = 0; index < 55; index++) await tag(`many ${index}`, `review 2019-01-${10 + index % 20}`)
  await untilCounted(app)
  const first = await overdue()
  const last = (await get(app, '/overdue', BROWSER)).body.match(/href="(\/overdue\?after=[^"]*)"/)?.[1] ?? ''
  assert.deepEqual([first.length, first[0]], [50, 'many 0'])
  assert.equal(new Set([...first, ...await overdue(last)]).size, 57)
})

test('a program that mends what it finds gets every wanted name and every dead end once', async (t) => {
  const app = await wiki.build(t)
  const links = Array.from({ length: 12 }, (_, number) => `[[want ${number}]]`)
  for (const [index, name] of ['a', 'b', 'c'].entries()) await save(app, name, links.slice(index * 3).join(' '))
  for (let number = 0; number < 5; number++) await save(app, `dead ${number}`, 'text')
  await untilCounted(app)
  /** @param {string} list @param {(name: string) => Promise<unknown>} mend */
  async function walk (list, mend) {
    const found = []
    for (let cursor = ''; cursor !== null;) {
      const url = `${API}/${list}?limit=2${cursor && `&cursor=${cursor}`}`
      const { items, next_cursor: next } = (await get(app, url)).json()
      for (const { name } of items) await mend(name)
      await untilCounted(app)
      found.push(...items.map((/** @type {{name: string}} */ { name }) => name))
      cursor = next
    }
    return found
  }
  const wanted = [6, 7, 8, 9, 10, 11, 3, 4, 5, 0, 1, 2].map((number) => `want ${number}`)
  // Half of them are written; of the others, the last link goes, and with it what is known of the name.
  assert.deepEqual(await walk('wanted', async (name) => {
    if (Number(name.slice(5)) % 2 === 0) return save(app, name, '[[a]]')
    for (const page of ['a', 'b', 'c']) {
      const { content } = (await get(app, `${API}/pages/${page}`)).json()
      await save(app, page, content.replaceAll(`[[${name}]]`, '') || '[[a]]')
    }
  }), wanted)
  const dead = [0, 1, 2, 3, 4].map((number) => `dead ${number}`)
  assert.deepEqual(await walk('dead-ends', (name) => save(app, name, '[[a]]')), dead)
  assert.deepEqual([await named(app, '/wanted'), await named(app, '/dead-ends')], [[], []])
  const { statusCode, body } = await get(app, '/wanted?after=Name', BROWSER)
  assert.equal(statusCode, 400, 'a position has the number of links')
  assert.doesNotMatch(body, /\$|Error:/)
})

test('the page of what needs care has the beginnings of four lists, and leads to the rest and editors', async (t) => {
  const app = await wiki.build(t)
  const empty = (await get(app, '/care', BROWSER)).body
  assert.equal(empty.match(/There are none/g)?.length, 4)
  const evil = '<img src=x onerror=alert(1)> & "Č"'
  await save(app, evil, 'text')
  await save(app, 'hub', Array.from({ length: 11 }, (_, number) => `[[want ${number}]]`).join(' ') + ` [[x${evil}]]`)
  await save(app, 'more', `[[x${evil}]]`)
  await untilCounted(app)
  const { statusCode, headers, body } = await get(app, '/care', BROWSER)
  assert.equal(statusCode, 200)
  assert.equal(headers['cache-control'], 'public, no-cache')
  assert.equal((await get(app, '/care', { ...BROWSER, 'if-none-match': String(headers.etag) })).statusCode, 304)
  assert.doesNotMatch(body, /<img/)
  const [, wanted, orphaned, deadEnds] = body.split('<h2>')
  const listed = (/** @type {string} */ html) =>
    [...html.matchAll(/<li><a href="([^"]*)"/g)].map(([, url]) => decodeURIComponent(url.replaceAll('&amp;', '&')))
  assert.equal(listed(wanted).length, 10)
  assert.equal(listed(wanted)[0], `/edit/new/x${evil}`, 'the most wanted first')
  assert.match(wanted, new RegExp('2 pages link to it</a> ' +
    '<a class="writes" href="/edit/new/x[^"]*" rel="nofollow" aria-label="Write it: x&lt;img'))
  assert.match(wanted, /<a href="\/wanted" rel="nofollow" aria-label="All of them: [^"]*">/)
  assert.deepEqual(listed(orphaned), [evil, 'hub', 'more'].map((name) => `/wiki/${name}`))
  assert.deepEqual(listed(deadEnds), [`/wiki/${evil}`])
  assert.doesNotMatch(orphaned + deadEnds, /All of them/)
  assert.match((await get(app, '/wanted', BROWSER)).body, /<a href="\/care" rel="nofollow">Needs care<\/a>/)
})

test('where nobody may write, no list offers it', async (t) => {
  const uri = wiki.freshUri()
  await save(await wiki.build(t, { MONGODB_URI: uri }), 'a', '[[b]]')
  const closed = await wiki.build(t, { MONGODB_URI: uri, ACCESS: 'read-only' })
  await untilCounted(closed)
  const { body } = await get(closed, '/care', BROWSER)
  assert.match(body, /1 page links to it/)
  assert.doesNotMatch(body, /Write it:/)
  const people = await wiki.build(t, { MONGODB_URI: uri, ...peopleOnly(t) })
  const { body: careOfPeople } = await get(people, '/care', BROWSER)
  assert.match(careOfPeople, /class="writes"[^>]*aria-label="Write it: b"/, 'for people with a name')
})
