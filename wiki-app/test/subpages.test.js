import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { judge } from '../torture/oracle.js'
import { stored } from '../torture/torture.js'
import { tagOf, tagsFor, treeTag } from '../src/caching/invalidation.js'
import { viewUrl } from '../src/pages/name.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
const PURGED_BY_TAG = {
  CACHE_POLICY: 'purge-tag',
  PURGE_ZONE: 'zone',
  PURGE_TOKEN: 'token-in-the-environment',
  PUBLIC_URL: 'https://wiki.example'
}
/** The second purge of an edit comes after the test. */
const ONCE = { repeatAfterMs: 3_600_000 }
/** Else fetch sends `no-cache` with a condition. */
const ASKS = { 'cache-control': 'max-age=0' }

/** @typedef {import('fastify').FastifyInstance} App */

/** The links in the list of subpages of a document: their addresses and texts. @param {string} body */
function listIn (body) {
  const [, list = ''] = /<nav class="subpages"[^>]*>([^]*?)<\/nav>/.exec(body) ?? []
  return [...list.matchAll(/<a href="([^"]*)"[^>]*>([^<]*)<\/a>/g)].map(([, url, text]) => [url, text])
}

/** @param {App} app @param {string} name */
const subpages = async (app, name) =>
  listIn((await get(app, viewUrl(name), BROWSER)).body).map(([, text]) => text)

/** @param {App} app @param {string} name */
const remove = (app, name) => app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(name)}` })

/** @param {App} app @param {string} name @param {string} to */
const rename = (app, name, to) =>
  app.inject({ method: 'POST', url: `/edit/rename/${encodeURIComponent(name)}`, payload: { to } })

test('a page lists its subpages by name, and those that come and go', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Guide', 'text')
  const alone = await get(app, '/wiki/Guide')
  assert.deepEqual(listIn(alone.body), [])
  for (const name of ['Guide/Step 10', 'Guide/Step 2', 'Guide/čas', 'Guide/Cake & "tea"', 'Guide 2/x', 'guide/y']) {
    assert.equal((await save(app, name, 'text')).statusCode, 201)
  }
  const listed = await get(app, '/wiki/Guide', { 'if-none-match': String(alone.headers.etag) })
  assert.equal(listed.statusCode, 200, 'the list changes the entity tag')
  assert.equal(listed.headers['page-revision'], '1')
  assert.deepEqual(listIn(listed.body), [
    ['/wiki/Guide/Cake%20&amp;%20%22tea%22', 'Cake &amp; &quot;tea&quot;'],
    ['/wiki/Guide/%C4%8Das', 'čas'],
    ['/wiki/Guide/Step%202', 'Step 2'],
    ['/wiki/Guide/Step%2010', 'Step 10']
  ])
  assert.equal((await get(app, '/wiki/Guide', { 'if-none-match': String(listed.headers.etag) })).statusCode, 304)

  await save(app, 'Guide/Step 2', 'another text')
  assert.equal((await get(app, '/wiki/Guide')).headers.etag, listed.headers.etag,
    'an edit of a subpage changes no list')
  await remove(app, 'Guide/Step 2')
  await rename(app, 'Guide/čas', 'Time')
  await rename(app, 'Guide 2/x', 'Guide/x')
  assert.deepEqual(await subpages(app, 'Guide'), ['Cake &amp; &quot;tea&quot;', 'Step 10', 'x'])
  for (const name of ['Guide/Step 10', 'Guide/Cake & "tea"', 'Guide/x']) await remove(app, name)
  assert.equal((await get(app, '/wiki/Guide')).headers.etag, alone.headers.etag, 'the page is the same as before')
})

test('subpages that are called as languages are also links to the page in these, named in themselves', async (t) => {
  const app = await wiki.build(t)
  const others = ['it', 'pt-BR', 'qq', 'new', 'IT', 'de/x', 'sl-sl', 'en"><b>', '../de']
  for (const name of ['Guide', 'Guide/sl', ...others.map((other) => `Guide/${other}`)]) await save(app, name, 'text')
  const { body } = await get(app, '/wiki/Guide', BROWSER)
  const [, inOthers = ''] = /<p class="soft">In other languages: ([^]*?)<\/p>/.exec(body) ?? []
  assert.deepEqual(inOthers.split(', '), [
    '<a href="/wiki/Guide/it" hreflang="it" lang="it" dir="auto">italiano</a>',
    '<a href="/wiki/Guide/pt-BR" hreflang="pt-BR" lang="pt-BR" dir="auto">português (Brasil)</a>',
    '<a href="/wiki/Guide/sl" hreflang="sl" lang="sl" dir="auto">slovenščina</a>'
  ])
  assert.ok((await subpages(app, 'Guide')).includes('sl'))
  assert.match((await get(app, '/wiki/Guide/sl', BROWSER)).body, /<nav class="above"[^>]*><a href="\/wiki\/Guide"/)
  await remove(app, 'Guide/it')
  assert.doesNotMatch((await get(app, '/wiki/Guide', BROWSER)).body, /italiano/)
  assert.doesNotMatch((await get(app, '/wiki/Guide/sl', BROWSER)).body, /In other languages/)
})

test('a page that is written or comes back has the subpages that are there', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Guide/a', 'text')
  await save(app, 'Guide', 'text')
  assert.deepEqual(await subpages(app, 'Guide'), ['a'])
  await remove(app, 'Guide')
  await save(app, 'Guide/b', 'text')
  await remove(app, 'Guide/a')
  await save(app, 'Guide', 'again')
  assert.deepEqual(await subpages(app, 'Guide'), ['b'])
  await save(app, 'Guide/b', 'a save on the condition of the shown page', {
    'if-match': String((await get(app, '/wiki/Guide/b')).headers.etag)
  })
  const { etag } = (await get(app, '/wiki/Guide')).headers
  assert.equal((await save(app, 'Guide', 'text', { 'if-match': String(etag) })).statusCode, 200)
})

test('a missing page between a page and its subpages is in the list, and leads to the pages below it', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Guide', 'text')
  await save(app, 'Guide/Install/Linux/Debian', 'text')
  const folder = [['/pages?under=Guide%2FInstall', 'Install/']]
  assert.deepEqual(listIn((await get(app, '/wiki/Guide')).body), folder)
  await save(app, 'Guide/Install/Linux/Fedora', 'text')
  await save(app, 'Guide/Install', 'text')
  assert.deepEqual(listIn((await get(app, '/wiki/Guide')).body), [['/wiki/Guide/Install', 'Install']])
  assert.deepEqual(await subpages(app, 'Guide/Install'), ['Linux/'])
  await remove(app, 'Guide/Install')
  assert.deepEqual(listIn((await get(app, '/wiki/Guide')).body), folder)
  for (const name of ['Debian', 'Fedora']) await remove(app, `Guide/Install/Linux/${name}`)
  assert.deepEqual(await subpages(app, 'Guide'), [])
})

test('a list of more than 50 subpages ends with a link to all pages below, of any depth and in parts', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'v1', 'text')
  const names = Array.from({ length: 60 }, (_, index) => `v1/${index + 1}`)
  const below = Array.from({ length: 60 }, (_, index) => `v1/7/${index + 1}`)
  for (const name of [...names, ...below]) assert.equal((await save(app, name, 'text')).statusCode, 201)
  for (const name of ['v2', 'v2/x', 'V1/x', 'v1 x', 'v10/x', 'v1.x/y']) await save(app, name, 'text')

  const list = listIn((await get(app, '/wiki/v1')).body)
  assert.equal(list.length, 51)
  assert.deepEqual(list[50], ['/pages?under=v1', 'All subpages'])
  const found = []
  for (let url = '/pages?under=v1'; url !== '';) {
    const { body } = await get(app, url)
    found.push(...[...body.matchAll(/<li><a [^>]*>([^<]*)<\/a>/g)].map(([, name]) => name))
    url = (/href="([^"]*)" rel="next"/.exec(body)?.[1] ?? '').replaceAll('&amp;', '&')
  }
  assert.deepEqual(found, [...names.slice(0, 7), ...below, ...names.slice(7)])
  const first = (await get(app, '/api/v1/pages/v1/subpages?limit=90')).json()
  const second = (await get(app, `/api/v1/pages/v1/subpages?cursor=${first.next_cursor}`)).json()
  assert.deepEqual([...first.items, ...second.items].map(({ name }) => name), found)
  assert.match((await get(app, '/pages?under=v1%2F8')).body, /no page’s name begins with “v1\/8\/”/)
  assert.equal((await get(app, '/pages?under=a%2F%2Fb')).statusCode, 400)
})

test('a missing page lists the pages below it, and names that differ in case, accents or underscores', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['Kratka navodila/ena', 'Čebela', 'CEBELA', 'Dolgi rok']) await save(app, name, 'text')
  assert.deepEqual(
    listIn((await get(app, '/wiki/Kratka%20navodila', BROWSER)).body), [['/wiki/Kratka%20navodila/ena', 'ena']]
  )
  for (const [asked, meant] of [
    ['cebela', ['CEBELA', 'Čebela']], ['dolgi_rok', ['Dolgi rok']], ['Dolgi', []], ['%3Cb%3E%22', []], ['.*', []]
  ]) {
    const { statusCode, headers, body } = await get(app, `/wiki/${asked}`, BROWSER)
    assert.equal(statusCode, 404)
    assert.equal(headers['cache-control'], 'no-store')
    const [, question = ''] = /<p>Did you mean ([^]*?)\?<\/p>/.exec(body) ?? []
    assert.deepEqual([...question.matchAll(/<a [^>]*>([^<]*)<\/a>/g)].map(([, name]) => name), meant, String(asked))
  }
  assert.doesNotMatch((await get(app, '/wiki/%3Cscript%3Ealert(1)%3C%2Fscript%3E', BROWSER)).body, /<script>/)
  const program = await get(app, '/wiki/cebela')
  assert.equal(program.json().detail, 'There is no page named “cebela”.')
})

test('the list beside pages has one address for all of them, which caches keep until one comes or goes', async (t) => {
  const app = await wiki.build(t, PURGED_BY_TAG)
  for (const name of ['Guide', 'Guide/a', 'Guide/b & c', 'Folder/a', 'Folder/b/c']) await save(app, name, 'text')
  for (const name of ['Guide/a', 'Guide/b & c']) {
    const { body } = await get(app, viewUrl(name))
    assert.match(body, /<a href="\/tree\/Guide" rel="nofollow">Pages nearby<\/a><\/nav>/)
  }
  assert.doesNotMatch((await get(app, '/wiki/Guide')).body, /\/tree\//)
  const page = await get(app, '/wiki/Guide')
  const beside = await get(app, '/tree/Guide')
  assert.deepEqual(listIn(beside.body), listIn(page.body))
  assert.equal(listIn(beside.body).length, 2)
  assert.deepEqual(listIn((await get(app, '/tree/Folder')).body).map(([, text]) => text), ['a', 'b/'], 'no page itself')
  for (const [url, name] of [['/tree/Guide', 'Guide'], ['/tree/Folder', 'Folder']]) {
    const { headers } = await get(app, url)
    for (const field of ['cache-control', 'cdn-cache-control']) assert.equal(headers[field], page.headers[field], url)
    assert.equal(headers['cache-tag'], treeTag(name))
  }
  const known = { 'if-none-match': String(beside.headers.etag) }
  await save(app, 'Guide', 'another text')
  assert.equal((await get(app, '/tree/Guide', known)).statusCode, 304, 'an edit changes no tree')
  await save(app, 'Guide/d', 'text')
  assert.equal(listIn((await get(app, '/tree/Guide', known)).body).length, 3)

  const commit = { name: 'Guide/a/b', revision: 1, authors: [''], tags: [], linking: [], links: [], above: [] }
  const own = tagOf('Guide/a/b')
  assert.deepEqual(tagsFor({ ...commit, listed: false }), { everything: false, urls: [], tags: [own] })
  const came = { everything: false, urls: [], tags: [own, treeTag('Guide'), treeTag('Guide/a')] }
  assert.deepEqual(tagsFor({ ...commit, listed: true }), came)

  // Caches would fill with them: there is no end of names.
  const none = await get(app, '/tree/none')
  assert.deepEqual([none.statusCode, none.headers['cdn-cache-control']], [200, undefined])
  assert.match(none.body, /no page’s name begins with “none\/”/)
  for (const [url, to] of [['/tree/Guide?x=1', '/tree/Guide'], ['/tree/%47uide', '/tree/Guide']]) {
    const { statusCode, headers } = await get(app, url)
    assert.deepEqual([statusCode, headers.location], [301, to])
  }
})

test('a view of a page with subpages reads the database once, and so does their list beside a page', async (t) => {
  const app = await wiki.build(t, { MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await save(app, 'a', 'text')
  await save(app, 'a/b', 'text')
  let finds = 0
  const client = /** @type {mongoose.Connection} */ (mongoose.connections.at(-1)).getClient()
  client.on('commandStarted', ({ commandName, command }) => {
    // The index of words reads pages, too, and alone waits for a majority.
    if (commandName === 'find' && command.readConcern?.level !== 'majority') finds++
  })
  const known = { 'if-none-match': String((await get(app, '/wiki/a')).headers.etag), ...ASKS }
  for (const [path, headers, status] of /** @type {const} */ ([
    ['/wiki/a', {}, 200], ['/wiki/a', known, 304], ['/tree/a', {}, 200]
  ])) {
    finds = 0
    const answer = await fetch(`${address}${path}`, { headers })
    await answer.text()
    assert.deepEqual([answer.status, finds], [status, 1], path)
  }
})

test('of a page and its subpages that several processes write at once, none is left out of the list', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  for (let round = 0; round < 10; round++) {
    await Promise.all([
      save(apps[round % 2], `p${round}`, 'text'),
      save(apps[0], `p${round}/a`, 'text'),
      save(apps[1], `p${round}/b/c`, 'text')
    ])
    assert.deepEqual(await subpages(apps[0], `p${round}`), ['a', 'b/'], `round ${round}`)
    await Promise.all([remove(apps[0], `p${round}/a`), save(apps[1], `p${round}/b`, 'text')])
    assert.deepEqual(await subpages(apps[1], `p${round}`), ['b'], `round ${round}`)
  }
  const { torn_counts: torn } = judge([], [], await stored(uri))
  assert.equal(torn, 0)
})

test('a subpage that comes or goes purges the pages whose list changes, and no others', async (t) => {
  /** @type {string[]} */
  const purged = []
  const app = await wiki.build(t, {}, {
    purge: async (stale) => { purged.push(...(stale.everything ? ['everything'] : stale.urls)) }, timing: ONCE
  })
  const purgedUrls = async () => {
    assert.ok(await waitUntil(() => purged.length > 0, WAIT_MAX_MS))
    return new Set(purged.splice(0))
  }
  await save(app, 'a', 'text')
  await save(app, 'a/b', 'text')
  assert.ok(await waitUntil(() => purged.includes('/wiki/a/b'), WAIT_MAX_MS))
  assert.ok(purged.includes('/wiki/a'))
  purged.splice(0)
  for (const [change, expected] of /** @type {[() => Promise<any>, string[]][]} */ ([
    [() => save(app, 'a/b/c', 'text'), ['/wiki/a/b', '/pages?under=a', '/pages?under=a%2Fb', '/tree/a', '/tree/a/b']],
    [() => save(app, 'a/b', 'an edit'), ['/pages?under=a']],
    [() => remove(app, 'a/b'), ['/wiki/a', '/pages?under=a', '/tree/a']],
    [() => rename(app, 'a/b/c', 'a/d'), ['/wiki/a', '/wiki/a/d', '/pages?under=a', '/pages?under=a%2Fb', '/tree/a/b']]
  ])) {
    await change()
    const urls = await purgedUrls()
    for (const url of expected) assert.ok(urls.has(url), url)
    assert.equal(urls.has('/wiki/a'), expected.includes('/wiki/a'), expected.join())
    const trees = (/** @type {string[]} */ list) => list.filter((url) => url.startsWith('/tree/')).length > 0
    assert.equal(trees([...urls]), trees(expected), expected.join())
  }
})

test('pages stored by an earlier version get their lists at the start', async (t) => {
  const uri = wiki.freshUri()
  const old = await wiki.build(t, { MONGODB_URI: uri })
  for (const name of ['a', 'a/b', 'a/c/d', 'e/f', 'gone', 'gone/x']) await save(old, name, 'text')
  await remove(old, 'gone')
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const database = client.db()
  await database.collection('pages').updateMany({}, { $unset: { subpages: '', subpages_hash: '' } })
  await database.collection('targets').deleteMany({ is: null })
  await database.collection('migrations').deleteOne({ _id: /** @type {any} */ (3) })
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await app.inject({ method: 'GET', url: '/readyz' })
  assert.ok(await waitUntil(async () => (await subpages(app, 'a')).length > 0, WAIT_MAX_MS))
  assert.deepEqual(await subpages(app, 'a'), ['b', 'c/'])
  const record = await database.collection('migrations').findOne({ _id: /** @type {any} */ (3) })
  assert.equal(record?.documents, 1)
})
