import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { BROWSER, get, save, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post, USERS } from './people.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

/** @param {TestContext} t @param {Record<string, string>} [settings] */
const build = (t, settings = {}) => wiki.build(t, { ...peopleOnly(t), ...settings })

/** @param {TestContext} t @param {string} uri */
async function connect (t, uri) {
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return client.db()
}

/** @param {App} app @param {string} name @param {string} text @param {string} [user] */
async function edit (app, name, text, user = 'editor') {
  const { statusCode } = await save(app, name, text, bearer(user))
  assert.ok(statusCode === 200 || statusCode === 201, `${name}: ${statusCode}`)
}

/** @param {App} app @param {string} user @param {'PUT' | 'DELETE' | 'POST' | 'GET'} method @param {string} path */
const ask = (app, user, method, path, payload = undefined) =>
  app.inject({ method, url: `/api/v1/watching${path}`, headers: bearer(user), payload: /** @type {any} */ (payload) })

/** @param {App} app @param {string} user @param {string} kind @param {string} name */
async function watch (app, user, kind, name) {
  const { statusCode } = await ask(app, user, 'PUT', `/${kind}/${encodeURIComponent(name)}`)
  assert.equal(statusCode, 204)
}

/** @param {App} app @param {string} [user] @returns {Promise<{shown: string[], mark: string}>} `*`: new to them */
async function changes (app, user = 'reader') {
  const answer = await ask(app, user, 'GET', '/changes')
  assert.equal(answer.statusCode, 200, answer.body)
  const { items, read_mark: mark } = answer.json()
  return {
    shown: items.map((/** @type {any} */ item) => `${item.name} ${item.revision}${item.new ? '*' : ''}`), mark
  }
}

/** Ids have whole seconds, and what is of the second in which the watching begins is new. */
const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_000 - Date.now() % 1_000 + 20))

test('a reader sees what others change in watched pages and what watched authors do, once each, the newest first',
  async (t) => {
    const app = await build(t)
    await edit(app, 'a', 'before it was watched')
    await nextSecond()
    await watch(app, 'reader', 'pages', 'a')
    await watch(app, 'reader', 'pages', 'not written yet')
    await watch(app, 'reader', 'authors', 'admin')
    await edit(app, 'a', 'not watched')
    await edit(app, 'other', 'not watched')
    await edit(app, 'b', 'by a watched author', 'admin')
    await edit(app, 'a', 'both are watched', 'admin')
    await edit(app, 'not written yet', 'it is now')
    assert.deepEqual((await changes(app)).shown, ['not written yet 1*', 'a 3*', 'b 1*', 'a 2*', 'a 1'])
    assert.deepEqual((await ask(app, 'reader', 'GET', '')).json(),
      { pages: ['a', 'not written yet'], authors: ['admin'], ending: [], in_spaces: [] })

    assert.equal((await ask(app, 'reader', 'DELETE', '/authors/admin')).statusCode, 204)
    assert.equal((await ask(app, 'reader', 'DELETE', '/pages/not%20written%20yet')).statusCode, 204)
    assert.equal((await ask(app, 'reader', 'DELETE', '/pages/never%20watched')).statusCode, 204)
    assert.deepEqual((await changes(app)).shown, ['a 3*', 'a 2*', 'a 1'])
    assert.deepEqual((await changes(app, 'editor')).shown, [], 'what others watch is their own affair')
  })

test('own changes are not new, and parts of the list follow each other', async (t) => {
  const app = await build(t)
  await watch(app, 'editor', 'pages', 'a')
  for (const user of ['editor', 'admin', 'editor']) await edit(app, 'a', `by ${user}`, user)
  assert.deepEqual((await changes(app, 'editor')).shown, ['a 3', 'a 2*', 'a 1'])
  const first = (await ask(app, 'editor', 'GET', '/changes?limit=2')).json()
  const second = (await ask(app, 'editor', 'GET', `/changes?limit=2&cursor=${first.next_cursor}`)).json()
  assert.deepEqual([first.items.length, second.items.map((/** @type {any} */ { revision }) => revision)], [2, [1]])
  assert.equal(second.next_cursor, null)
})

test('what was shown can be marked as read; what comes later is new, also if it was begun before', async (t) => {
  const uri = wiki.freshUri()
  const app = await build(t, { MONGODB_URI: uri })
  await watch(app, 'reader', 'pages', 'a')
  await edit(app, 'a', 'one')
  await edit(app, 'a', 'two')
  const { shown, mark } = await changes(app)
  assert.deepEqual(shown, ['a 2*', 'a 1*'])
  await edit(app, 'a', 'three')
  assert.equal((await ask(app, 'reader', 'POST', '/read', /** @type {any} */ ({ read_mark: mark }))).statusCode, 204)
  assert.deepEqual((await changes(app)).shown, ['a 3*', 'a 2', 'a 1'])

  // As by a transaction that was long under way.
  const db = await connect(t, uri)
  const two = await db.collection('revisions').findOne({ page: 'a', revision: 2 })
  const _id = new ObjectId(`${String(two?._id).slice(0, 8)}0000000000000000`)
  await db.collection('revisions').insertOne({ ...two, _id, revision: 9 })
  assert.ok((await changes(app)).shown.includes('a 9*'))
  const all = (await changes(app)).mark
  for (const again of [all, mark]) await ask(app, 'reader', 'POST', '/read', /** @type {any} */ ({ read_mark: again }))
  assert.ok((await changes(app)).shown.every((change) => !change.endsWith('*')), 'an older mark takes nothing back')
})

test('all that changed within a minute is read after one mark, also what the first part does not show', async (t) => {
  const app = await build(t)
  await watch(app, 'reader', 'authors', 'editor')
  await Promise.all(Array.from({ length: 70 }, (_, index) => edit(app, `page ${index}`, 'text')))
  const cookie = await cookieOf(app, 'reader')
  const list = async (query = '') => (await get(app, `/edit/watching${query}`, { ...BROWSER, ...cookie })).body
  const first = await list()
  const [, mark] = /name="mark" value="([^"]*)"/.exec(first) ?? []
  const [, next] = /href="\/edit\/watching(\?[^"]*)" rel="next"/.exec(first) ?? []
  assert.match(await list(next), /<strong>New/)
  await post(app, '/edit/watching/read', { mark }, cookie)
  assert.doesNotMatch(await list() + await list(next), /<strong>New/)
})

test('a mark that the list has not given is refused, or means no more than now', async (t) => {
  const app = await build(t)
  await watch(app, 'reader', 'pages', 'a')
  for (const mark of ['', 'x', '1', `${Date.now()}.x`, `${Date.now()}${`.${'0'.repeat(24)}`.repeat(101)}`]) {
    const { statusCode } = await ask(app, 'reader', 'POST', '/read', /** @type {any} */ ({ read_mark: mark }))
    assert.equal(statusCode, 400, mark)
  }
  const { statusCode } = await ask(app, 'reader', 'POST', '/read', /** @type {any} */ ({ read_mark: '9'.repeat(13) }))
  assert.equal(statusCode, 204)
  await edit(app, 'a', 'after a mark of the future')
  assert.deepEqual((await changes(app)).shown, ['a 1*'])
})

test('a page that is renamed, with its subpages and again, stays watched; so does one that is deleted', async (t) => {
  const app = await build(t)
  for (const name of ['a', 'a/b', 'gone']) {
    await edit(app, name, 'text')
    await watch(app, 'reader', 'pages', name)
  }
  await watch(app, 'reader', 'pages', 'c')
  for (const [from, to] of [['a', 'b'], ['b', 'c']]) await rename(app, from, to, true)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/gone', headers: bearer('editor') })).statusCode, 204)
  const watched = async () => (await ask(app, 'reader', 'GET', '')).json().pages.sort()
  assert.deepEqual(await watched(), ['c', 'c/b', 'gone'], 'each once')
  await edit(app, 'a', 'another page of the first name')
  assert.deepEqual(await watched(), ['c', 'c/b', 'gone'])
  const { shown } = await changes(app)
  assert.ok(shown.some((change) => change.startsWith('gone 2')), 'its deletion is a change')
  assert.ok(!shown.some((change) => change.startsWith('a ')), 'another page of that name is not watched')
})

/** @param {App} app @param {string} from @param {string} to @param {boolean} [subpages] */
async function rename (app, from, to, subpages = false) {
  const { statusCode, body } = await app.inject({
    method: 'POST', url: `/api/v1/pages/${from}/rename`, headers: bearer('editor'), payload: { to, subpages }
  })
  assert.equal(statusCode, 201, body)
}

test('another page that takes the old name before the reader has looked is another page', async (t) => {
  const uri = wiki.freshUri()
  const app = await build(t, { MONGODB_URI: uri })
  const watchers = (await connect(t, uri)).collection('watchers')
  const watched = async (user = 'reader') => (await ask(app, user, 'GET', '')).json().pages
  await edit(app, 'a', 'text')
  for (const name of ['a', 'later']) await watch(app, 'reader', 'pages', name)
  // As stored by a version that knew pages by their names: it learns the page at the first look.
  await watchers.insertOne({
    _id: /** @type {any} */ ('admin'),
    pages: [{ name: 'a', since: new Date(0) }],
    authors: [],
    read: [],
    read_before: new Date(0)
  })
  assert.deepEqual(await watched('admin'), ['a'])

  await rename(app, 'a', 'b')
  await edit(app, 'a', 'another page')
  await rename(app, 'b', 'c')
  await edit(app, 'b', 'one more')
  await edit(app, 'later', 'not written when it was watched')
  await rename(app, 'later', 'now')
  await edit(app, 'later', 'another page')
  for (const user of ['reader', 'admin']) {
    const { shown } = await changes(app, user)
    assert.deepEqual(shown.filter((change) => /^[abc] /.test(change)).map((change) => change.slice(0, 3)),
      ['c 3', 'c 2', 'c 1'], user)
  }
  assert.deepEqual(await watched('admin'), ['c'])
  assert.deepEqual(await watched(), ['c', 'now'])

  // The former name, which another page has now, and the page's own one.
  await watch(app, 'reader', 'pages', 'a')
  await watch(app, 'reader', 'pages', 'c')
  assert.deepEqual(await watched(), ['c', 'now', 'a'])
  await rename(app, 'c', 'd')
  assert.equal((await ask(app, 'reader', 'DELETE', '/pages/d')).statusCode, 204)
  assert.deepEqual(await watched(), ['now', 'a'], 'under the name that it has now')
})

test('what is watched through two wikis at once is all there, and nobody watches more than 1000 pages', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await build(t, { MONGODB_URI: uri }), await build(t, { MONGODB_URI: uri })]
  const names = Array.from({ length: 20 }, (_, index) => `page ${index}`)
  await Promise.all(names.flatMap((name, index) => [0, 1].map(() => watch(apps[index % 2], 'reader', 'pages', name))))
  assert.deepEqual((await ask(apps[0], 'reader', 'GET', '')).json().pages.sort(), names.sort())

  const watchers = (await connect(t, uri)).collection('watchers')
  const more = Array.from({ length: 980 }, (_, index) => ({ name: `more ${index}`, since: new Date() }))
  await watchers.updateOne({}, { $push: /** @type {any} */ ({ pages: { $each: more } }) })
  const refused = await ask(apps[0], 'reader', 'PUT', '/pages/one%20more')
  assert.equal(refused.statusCode, 409)
  assert.match(refused.json().detail, /You watch 1000 pages already\. Stop watching one of them first\./)
  await watch(apps[0], 'reader', 'pages', 'more 1')
  assert.equal((await ask(apps[0], 'reader', 'GET', '')).json().pages.length, 1_000)
})

test('a page is watched for some days, or longer once it is watched again, and then no more', async (t) => {
  const uri = wiki.freshUri()
  const app = await build(t, { MONGODB_URI: uri })
  const watchers = (await connect(t, uri)).collection('watchers')
  const list = async () => (await ask(app, 'reader', 'GET', '')).json()
  const ends = async () => (await list()).ending.map((/** @type {{name: string, until: string}} */ { name, until }) =>
    [name, Math.round((Date.parse(until) - Date.now()) / 86_400_000)])
  const put = async (/** @type {string} */ name, /** @type {object} */ query) =>
    (await ask(app, 'reader', 'PUT', `/pages/${name}?${new URLSearchParams({ ...query })}`)).statusCode
  for (const days of [0, 367, 1.5, 'soon', '']) assert.equal(await put('a', { days }), 400, String(days))
  assert.equal(await put('a', { days: 7, until: 'never' }), 400)
  assert.deepEqual([await put('a', { days: 7 }), await put('b', { days: 30 })], [204, 204])
  assert.deepEqual(await ends(), [['a', 7], ['b', 30]])
  assert.equal(await put('a', { days: 30 }), 204)
  assert.deepEqual(await ends(), [['a', 30], ['b', 30]])
  await watch(app, 'reader', 'pages', 'b')
  assert.deepEqual(await ends(), [['a', 30]], 'the other is for good')

  // Two that become one: the later end counts.
  await edit(app, 'a', 'text')
  await rename(app, 'a', 'c')
  assert.equal(await put('a', { days: 91 }), 204)
  await edit(app, 'c', 'more')
  assert.deepEqual(await ends(), [['c', 91]])

  const cookie = await cookieOf(app, 'reader')
  const see = async (/** @type {string} */ url) => (await get(app, url, { ...BROWSER, ...cookie })).body
  const day = new Date(Date.now() + 91 * 86_400_000).toISOString().slice(0, 10)
  assert.match(await see('/edit/watching'), new RegExp(`until <time datetime="${day}[^>]*>${day} `))
  assert.match(await see('/edit/watch/c'), /until <time[^]*Stop watching[^]*<option value="365">/)
  const form = (/** @type {string} */ days) => post(app, '/edit/watch/c', { watch: 'yes', days }, cookie)
  assert.deepEqual([(await form('8')).statusCode, (await form('365')).statusCode], [400, 303])
  assert.deepEqual(await ends(), [['c', 365]])
  assert.deepEqual((await changes(app)).shown, ['c 3*', 'c 2*', 'c 1*'])

  await watchers.updateOne({ 'pages.name': 'c' }, { $set: { 'pages.$.until': new Date() } })
  assert.deepEqual((await changes(app)).shown, [])
  assert.deepEqual(await list(), { pages: ['b'], authors: [], ending: [], in_spaces: [] })
  assert.match(await see('/edit/watch/c'), /You do not watch this page/)
  assert.equal((await watchers.findOne())?.pages.length, 1, 'nor is it kept')
})

test('changes of many watched pages are merged, and the database reads no more of them than are shown', async (t) => {
  const uri = wiki.freshUri()
  const app = await build(t, { MONGODB_URI: uri })
  const db = await connect(t, uri)
  const names = Array.from({ length: 250 }, (_, index) => `page ${index}`)
  await watch(app, 'reader', 'pages', names[0])
  const since = new Date(0)
  await db.collection('watchers').updateOne({}, { $set: { pages: names.map((name) => ({ name, since })) } })
  const revisions = Array.from({ length: 40 }, (_, index) => names.map((page, number) => ({
    _id: new ObjectId((1_000 * index + number).toString(16).padStart(24, '0')),
    page,
    revision: index + 1,
    follows: index || null,
    content: 'text',
    content_bytes: 4,
    tags: [],
    author: 'editor',
    summary: '',
    deleted: false,
    created_at: since
  }))).flat()
  await db.collection('revisions').insertMany(revisions)
  await db.command({ profile: 2 })
  const { items } = (await ask(app, 'reader', 'GET', '/changes?limit=100')).json()
  await db.command({ profile: 0 })
  assert.deepEqual(
    items.map((/** @type {any} */ { name }) => name), names.slice(-100).reverse(), 'the newest of all groups'
  )
  const reads = await db.collection('system.profile')
    .find({ 'command.find': 'revisions' }, { projection: { docsExamined: 1 } }).toArray()
  const examined = reads.reduce((sum, { docsExamined }) => sum + docsExamined, 0)
  assert.ok(reads.length === 3 && examined <= 3 * 101, `${reads.length} reads of ${examined} documents`)
})

/** @param {string} body */
const addressIn = (body) => {
  const [, path = ''] = /data-path="(\/feeds\/[\w-]{43})"/.exec(body) ?? []
  return path
}

test('a feed has a secret address, which neither the database nor a log has, and which a new one replaces', async (t) => {
  const uri = wiki.freshUri()
  const log = new PassThrough()
  let logged = ''
  log.on('data', (text) => { logged += text })
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri, LOG_LEVEL: 'trace' }, {}, { logTo: log })
  const cookie = await cookieOf(app, 'reader')
  await edit(app, 'a <b>', 'text')
  await edit(app, 'other', 'text')
  await watch(app, 'reader', 'pages', 'a <b>')
  const made = await post(app, '/edit/watching/feed', {}, cookie)
  assert.equal(made.statusCode, 200)
  assert.equal(made.headers['cache-control'], 'private, no-store')
  const path = addressIn(made.body)
  const feed = await get(app, path)
  assert.deepEqual([feed.statusCode, feed.headers['content-type'], feed.headers['cache-control']],
    [200, 'application/atom+xml; charset=utf-8', 'private, no-cache'])
  assert.match(feed.body, /<title>What reader watches<\/title>/)
  assert.match(feed.body, /<title>a &lt;b&gt;: revision 1<\/title>/)
  assert.doesNotMatch(feed.body, /other/)
  const again = await get(app, path, { 'if-none-match': String(feed.headers.etag) })
  assert.equal(again.statusCode, 304)

  const second = addressIn((await post(app, '/edit/watching/feed', {}, cookie)).body)
  assert.notEqual(second, path)
  assert.equal((await get(app, path)).statusCode, 404)
  assert.equal((await get(app, second)).statusCode, 200)
  assert.doesNotMatch((await get(app, '/edit/watching', { ...BROWSER, ...cookie })).body, /\/feeds\//, 'shown only once')

  await app.close()
  const stored = JSON.stringify(await (await connect(t, uri)).collection('watchers').find().toArray())
  for (const secret of [path, second].map((address) => address.slice('/feeds/'.length))) {
    assert.ok(!stored.includes(secret) && !logged.includes(secret))
  }
  assert.match(logged, /"url":"\/feeds\/-"/)

  const others = peopleOnly(t, { users: USERS.filter(({ name }) => name !== 'reader') })
  const later = await wiki.build(t, { ...others, MONGODB_URI: uri })
  assert.equal((await get(later, second)).statusCode, 404, 'of a removed user')
})

test('a person finds the button on a page and an author’s list, and what is new on the page “Watching”', async (t) => {
  const app = await build(t)
  await edit(app, 'a/b c', 'text')
  await nextSecond()
  const page = await get(app, '/wiki/a/b%20c', BROWSER)
  assert.match(page.body, /<a href="\/edit\/watch\/a\/b%20c" rel="nofollow">Watch<\/a>/)
  assert.match((await get(app, '/changes?author=editor', BROWSER)).body, /href="\/edit\/watch-author\?author=editor"/)
  assert.equal((await get(app, '/watching', BROWSER)).headers.location, '/edit/watching')
  const unknown = await get(app, '/edit/watch/a/b%20c', BROWSER)
  assert.match(String(unknown.headers.location), /^\/edit\/sign-in\?to=%2Fedit%2Fwatch%2Fa%2Fb/)

  const cookie = await cookieOf(app, 'reader')
  const see = async (/** @type {string} */ url) => {
    const { statusCode, headers, body } = await get(app, url, { ...BROWSER, ...cookie })
    assert.deepEqual([statusCode, headers['cache-control']], [200, 'private, no-store'], url)
    return body
  }
  assert.match(await see('/edit/watching'), /You watch nothing yet/)
  assert.match(await see('/edit/watch/a/b%20c'), /You do not watch this page[^]*<button class="primary">Watch<\/button>/)
  for (const [url, fields, location] of /** @type {const} */ ([
    ['/edit/watch/a/b%20c', {}, '/edit/watch/a/b%20c'],
    ['/edit/watch-author', { author: 'admin' }, '/edit/watch-author?author=admin']
  ])) {
    const { statusCode, headers } = await post(app, url, { ...fields, watch: 'yes' }, cookie)
    assert.deepEqual([statusCode, headers.location], [303, location])
    assert.match(await see(location), /<button class="primary">Stop watching<\/button>/)
  }
  await edit(app, 'a/b c', 'more', 'admin')
  const list = await see('/edit/watching')
  assert.equal([...list.matchAll(/<strong>New<\/strong>/g)].length, 1)
  assert.match(list, /Stop watching a\/b c/)
  const [, mark] = /name="mark" value="([^"]*)"/.exec(list) ?? []
  assert.equal((await post(app, '/edit/watching/read', { mark }, cookie)).statusCode, 303)
  assert.doesNotMatch(await see('/edit/watching'), /<strong>New|Mark all as read/)

  await post(app, '/edit/watch-author', { author: 'admin', watch: 'no' }, cookie)
  assert.match(await see('/edit/watch-author?author=admin'), /<button class="primary">Watch<\/button>/)
  const foreign = { ...cookie, 'sec-fetch-site': 'cross-site' }
  assert.equal((await post(app, '/edit/watch/x', { watch: 'yes' }, foreign)).statusCode, 403)
})

test('a wiki that knows nobody by name shows nothing of it', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  assert.doesNotMatch((await get(app, '/wiki/a', BROWSER)).body, /[Ww]atch/)
  assert.equal((await get(app, '/edit/watching', BROWSER)).statusCode, 404)
  const { paths, tags } = (await get(app, '/api/v1/openapi.json')).json()
  assert.doesNotMatch(JSON.stringify([Object.keys(paths), tags]), /[Ww]atch/)
})
