import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { BROWSER, get, save, useWiki } from './helper.js'
import { cookieOf, peopleOnly } from './people.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
/** The second purge of an edit comes after the test. */
const ONCE = { repeatAfterMs: 3_600_000 }

/** @param {import('fastify').FastifyInstance} app @param {string} name @param {string} to */
const rename = (app, name, to) =>
  app.inject({ method: 'POST', url: `/edit/rename/${encodeURIComponent(name)}`, payload: { to } })

test('an empty wiki invites to write its home page, and shows it at / from then on', async (t) => {
  const app = await wiki.build(t)
  const invitation = await get(app, '/', BROWSER)
  assert.equal(invitation.statusCode, 200)
  assert.equal(invitation.headers['cache-control'], 'public, no-cache')
  assert.match(invitation.body, /<a class="primary[^"]*" href="\/edit\/text\/Home" rel="nofollow">Write the home page<\/a>/)
  const tag = { 'if-none-match': String(invitation.headers.etag) }
  assert.equal((await get(app, '/', tag)).statusCode, 304)

  assert.match(invitation.body, /There are no other pages either\./)

  for (const name of ['first', 'second', 'gone', 'first']) await save(app, name, 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  const { body } = await get(app, '/', tag)
  assert.deepEqual([...body.matchAll(/<li><a [^>]*>([^<]*)<\/a>/g)].map(([, name]) => name), ['first', 'second'])
  assert.doesNotMatch(body, /no other pages/)

  await save(app, 'Home', 'Welcome to [[first]].')
  const [home, page] = [await get(app, '/', tag), await get(app, '/wiki/Home')]
  assert.equal(home.statusCode, 200)
  assert.equal(home.body, page.body)
  const { date: at, connection, ...headers } = home.headers
  assert.deepEqual(headers, Object.fromEntries(Object.entries(page.headers).filter(([key]) => key in headers)))
  assert.equal(headers['cache-control'], 'public, max-age=180')
  assert.equal((await get(app, '/', { 'if-none-match': String(headers.etag) })).statusCode, 304)

  await app.inject({ method: 'DELETE', url: '/wiki/Home' })
  assert.match((await get(app, '/')).body, /This wiki has no home page yet/)
})

test('a home page of another name is shown; when it is renamed, / leads to its new name', async (t) => {
  const app = await wiki.build(t, { HOME_PAGE: ' Začetek  tu ', ACCESS: 'open' })
  await save(app, 'Začetek tu', 'text')
  assert.match((await get(app, '/')).body, /<h1[^>]*>Začetek tu<\/h1>/)
  await rename(app, 'Začetek tu', 'Start')
  const { statusCode, headers } = await get(app, '/')
  assert.deepEqual([statusCode, headers.location], [302, '/wiki/Start'])
})

test('a wiki that nobody may change shows no invitation to write', async (t) => {
  const app = await wiki.build(t, { ACCESS: 'read-only' })
  const { statusCode, body } = await get(app, '/', BROWSER)
  assert.equal(statusCode, 200)
  assert.doesNotMatch(body, /\/edit\//)
})

test('/ is answered before the framework as a page is, with the same headers and in the same numbers', async (t) => {
  const app = await wiki.build(t)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await save(app, 'Home', 'text')
  await get(app, '/wiki/stevec')
  const [home, page] = [await fetch(`${address}/`), await fetch(`${address}/wiki/Home`)]
  assert.equal(await home.text(), await page.text())
  for (const name of ['etag', 'last-modified', 'cache-control', 'content-type', 'content-security-policy']) {
    assert.equal(home.headers.get(name), page.headers.get(name), name)
  }
  // Else fetch sends `no-cache` with a condition.
  const asks = { 'cache-control': 'max-age=0' }
  const kept = await fetch(`${address}/`, { headers: { 'if-none-match': String(home.headers.get('etag')), ...asks } })
  assert.equal(kept.status, 304)
  assert.equal((await get(app, '/wiki/stevec')).json().requests, 3)
})

test('/ is purged with the home page, for each reason that purges that page, and by its Cache-Tag', async (t) => {
  /** @type {string[]} */
  const purged = []
  const app = await wiki.build(t, {}, {
    purge: async (stale) => { purged.push(...(stale.everything ? ['everything'] : stale.urls)) }, timing: ONCE
  })
  for (const [change, isHome] of /** @type {[() => Promise<any>, boolean][]} */ ([
    [() => save(app, 'Home', 'to [[other]]'), true],
    [() => save(app, 'other', 'its link is no longer missing'), true],
    [() => save(app, 'other', 'an edit elsewhere'), false],
    [() => save(app, 'Home/below', 'is in its list'), true],
    [() => rename(app, 'Home', 'Start'), true]
  ])) {
    purged.splice(0)
    await change()
    assert.ok(await waitUntil(() => purged.includes('/pages'), WAIT_MAX_MS))
    assert.equal(purged.includes('/'), isHome, String(change))
  }

  const tagged = await wiki.build(t, {
    CACHE_POLICY: 'purge-tag',
    PURGE_ZONE: 'zone',
    PUBLIC_URL: 'https://wiki.example',
    PURGE_TOKEN: 'a-token-of-the-test'
  }, { purge: async () => {} })
  await save(tagged, 'Home', 'text')
  const { headers } = await get(tagged, '/')
  assert.ok(headers['cache-tag'])
  assert.equal(headers['cache-tag'], (await get(tagged, '/wiki/Home')).headers['cache-tag'])
})

test('addresses of before lead to the list of pages, and /wiki to /', async (t) => {
  const app = await wiki.build(t)
  for (const [from, to] of [
    ['/?q=a+b', '/pages?q=a+b'], ['/?after=x&q=%C4%8D', '/pages?after=x&q=%C4%8D'], ['/?x=1', '/'],
    ['/wiki', '/'], ['/wiki/', '/'], ['/wiki/?x=1', '/wiki/'],
    ['http://evil.example/?q=//evil.example', '/pages?q=//evil.example']
  ]) {
    const { statusCode, headers } = await get(app, from)
    assert.deepEqual([statusCode, headers.location], [301, to], from)
  }
})

test('a red link leads writers to an editor, and readers to the page about the name', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'see [[Not & written?]]')
  const { body } = await get(app, '/wiki/a')
  const [, href] = /<a href="([^"]*)" class="missing" rel="nofollow"/.exec(body) ?? []
  const url = href.replaceAll('&amp;', '&')
  const leads = async (/** @type {typeof app} */ to, /** @type {Record<string, string>} */ headers = BROWSER) => {
    const answer = await get(to, url, headers)
    assert.deepEqual([answer.statusCode, answer.headers['cache-control']], [303, 'private, no-store'])
    return answer.headers.location
  }
  const [editor, page] = ['/edit/text/Not%20&%20written%3F', '/wiki/Not%20&%20written%3F']
  assert.equal(await leads(app), editor)
  assert.equal(await leads(app, { ...BROWSER, cookie: 'session=x' }), editor)
  assert.match((await get(app, editor, BROWSER)).body, /Create “Not &amp; written\?”/)
  await save(app, 'Not & written?', 'text')
  assert.equal(await leads(app), page, 'an old copy of the page does not lead into an editor')
  await rename(app, 'Not & written?', 'b')
  assert.equal(await leads(app), page)
  assert.equal((await get(app, '/edit/new/a//b', BROWSER)).statusCode, 400)
  assert.equal((await get(app, '/edit/new/%20x', BROWSER)).headers.location, '/edit/new/x')

  assert.equal(await leads(await wiki.build(t, { ACCESS: 'read-only' })), page)
  const people = await wiki.build(t, peopleOnly(t))
  assert.equal(await leads(people), page)
  assert.equal(await leads(people, { ...BROWSER, ...await cookieOf(people, 'reader') }), page)
  assert.equal(await leads(people, { ...BROWSER, ...await cookieOf(people, 'editor') }), editor)
})
