import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import mongoose from 'mongoose'
import { createSitemap } from '../src/crawlers/sitemap.js'
import { DISALLOWED } from '../src/crawlers/robots.js'
import { defineModels } from '../src/pages/model.js'
import { BROWSER, get, save, untilCounted, useWiki } from './helper.js'
import { OIDC } from './oidc.js'
import { bearer, MAIL, peopleOnly } from './people.js'

const wiki = useWiki()

/** What crawlers may read. Every other route for GET is disallowed. */
const READ_BY_CRAWLERS = [
  '/', '/wiki', '/wiki/', '/wiki/*', '/wiki/stevec', '/s/:id', '/pages', '/tags', '/tags/:tag', '/changes',
  '/changes.atom', '/files', '/files/:file', '/files/:file/:name', '/robots.txt', '/sitemap.xml', '/sitemap/:part',
  '/favicon.ico', '/offline.js',
  // Without a link to them.
  '/healthz', '/readyz', '/purge-log'
]

/** As RFC 9309 §2.2.2 compares them, with the one `*` that the file has. @param {string} url @param {string[]} paths */
const isDisallowed = (url, paths) => paths.some((path) => path === '/*?' ? url.includes('?') : url.startsWith(path))

/** @param {string} text */
const disallowedIn = (text) => [...text.matchAll(/^Disallow: (.*)$/gm)].map(([, path]) => path)

/** @param {string} xml @param {string} tag */
const valuesIn = (xml, tag) => [...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map(([, value]) => value)

test('robots.txt allows pages, lists and pictures, disallows every other route, and names the sitemap', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL, ...OIDC, PUBLIC_URL: 'https://wiki.example' })
  const { statusCode, headers, body } = await get(app, '/robots.txt')
  assert.equal(statusCode, 200)
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
  assert.equal(headers['cache-control'], 'public, max-age=3600')
  assert.match(body, /^Sitemap: https:\/\/wiki\.example\/sitemap\.xml$/m)
  const paths = disallowedIn(body)
  assert.deepEqual(paths, [...DISALLOWED])
  const routes = /** @type {{method: string | string[], url: string}[]} */ (/** @type {any} */ (app).rules)
    .filter(({ method, url }) => [method].flat().includes('GET') && !url.startsWith('/assets/'))
    .map(({ url }) => url)
  assert.ok(routes.length > 50)
  for (const url of routes) {
    const asked = url.replace(/[*]|:\w+/, 'a')
    assert.equal(isDisallowed(asked, paths), !READ_BY_CRAWLERS.includes(url), url)
  }
  assert.ok(isDisallowed('/pages?after=a', paths))
})

/** Reads that cost as much as a page, or that only people who have signed in can send. */
const AS_CHEAP_AS_A_PAGE = [
  '/', '/wiki', '/wiki/', '/wiki/*', '/random', '/s/:id', '/files/:file', '/files/:file/:name', '/readyz',
  '/api/v1/short-links/:id', '/api/v1/saves/:id',
  '/api/v1/openapi.json', '/digests/confirm/:secret', '/digests/stop/:secret', '/invitations/:secret', '/edit/people',
  '/edit/people/person', '/edit/audit', '/edit/protection', '/api/v1/protections', '/edit/account',
  '/edit/proposals', '/api/v1/proposals', '/api/v1/proposals/:id',
  '/api/v1/spaces', '/api/v1/spaces/:name', '/api/v1/groups', '/api/v1/groups/:name/members',
  '/edit/spaces', '/edit/groups', '/edit/in/wiki/*', '/edit/in/files/*', '/edit/in/picture/*',
  '/edit/new', '/edit/new/*', '/edit/short-link/*', '/edit/sign-in', '/edit/sign-in/oidc/callback',
  '/edit/sign-in/forgotten', '/edit/revert-author', '/edit/erase/*',
  '/edit/watch/*', '/edit/watch-author', '/edit/watching',
  '/watching', '/api/v1/watching', '/api/v1/watching/changes', '/api/v1/watching/digest'
]

test('each read that costs more than a page is of a class, which takes turns with the others', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL, ...OIDC, PUBLIC_URL: 'https://wiki.example' })
  const routes = /** @type {{method: string | string[], url: string, config: any}[]} */ (/** @type {any} */ (app).rules)
    .filter(({ method, config }) => [method].flat().includes('GET') && config.database !== false)
  const classes = Object.fromEntries(routes.map(({ url, config }) => [url, config.costly]))
  for (const [url, costly] of Object.entries(classes)) {
    assert.equal(costly === undefined, AS_CHEAP_AS_A_PAGE.includes(url), url)
  }
  const some = ['/pages', '/history/*', '/revision/*', '/difference/*', '/search', '/raw/*', '/api/v1/export']
  assert.deepEqual(some.map((url) => classes[url]),
    ['list', 'history', 'history', 'difference', 'search', 'text', 'export'])

  const file = readFileSync(path.join(ROOT, 'nginx/conf/costly.conf'), 'utf8')
  const slots = [...file.matchAll(/^ {2}"~(.*)" "(_\w+)";$/gm)]
    .map(([, text, name]) => ({ pattern: new RegExp(text), name }))
  assert.ok(slots.length > 2)
  for (const { url, config } of routes) {
    const asked = `GET ${url.replace(/[*]|:\w+/g, 'a')}`
    const isOld = ['history', 'difference'].includes(config.costly) || url.includes('/revisions')
    const expected = isOld ? '_old' : config.costly === undefined ? undefined : '_costly'
    assert.equal(slots.find(({ pattern }) => pattern.test(asked))?.name, expected, `nginx knows ${url}`)
  }
  const ofSubpage = 'GET /api/v1/pages/a/b/revisions/1'
  assert.equal(slots.find(({ pattern }) => pattern.test(ofSubpage))?.name, '_old', 'nginx decodes the name')
})

test('links from what crawlers read to what is disallowed say nofollow', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  assert.equal((await save(app, 'a/b', '[[c]] #one', bearer('admin'))).statusCode, 201)
  assert.equal((await save(app, 'a', '[[c]]', bearer('admin'))).statusCode, 201)
  assert.equal((await save(app, 'a', '[[a/b]]', bearer('admin'))).statusCode, 200)
  await untilCounted(app)
  let seen = 0
  for (const url of ['/wiki/a', '/wiki/a/b', '/pages', '/tags', '/changes', '/files', '/']) {
    const { statusCode, body } = await get(app, url, BROWSER)
    assert.equal(statusCode, 200, url)
    for (const [link, target] of body.matchAll(/<a [^>]*href="([^"?#]*)(?=["#])[^>]*>/g)) {
      if (!isDisallowed(target, [...DISALLOWED])) continue
      seen++
      assert.match(link, / rel="nofollow"/, `${link} in ${url}`)
    }
  }
  assert.ok(seen > 30, `${seen} links`)
})

test('without PUBLIC_URL the addresses are those of the host that was asked, and there are none for a bad one', async (t) => {
  const app = await wiki.build(t)
  const sitemapFor = async (/** @type {string} */ host) =>
    /^Sitemap: (.*)$/m.exec((await get(app, '/robots.txt', { host })).body)?.[1]
  assert.equal(await sitemapFor('wiki.localhost:8080'), 'http://wiki.localhost:8080/sitemap.xml')
  assert.equal(await sitemapFor('a"b'), undefined)
})

test('the sitemap has every page once, also one that was written since, with the time of its change', async (t) => {
  const app = await wiki.build(t, { PUBLIC_URL: 'https://wiki.example' })
  const index = await get(app, '/sitemap.xml')
  assert.equal(index.headers['content-type'], 'application/xml; charset=utf-8')
  assert.equal(index.headers['cache-control'], 'public, max-age=3600')
  assert.deepEqual(valuesIn(index.body, 'loc'), ['https://wiki.example/sitemap/1.xml'])
  for (const name of ['b & c', 'a', 'Č', 'gone']) await save(app, name, 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  const moved = await app.inject({ method: 'POST', url: '/edit/rename/a', payload: { to: 'moved' } })
  assert.equal(moved.statusCode, 201)
  const { body, headers } = await get(app, '/sitemap/1.xml')
  assert.deepEqual(valuesIn(body, 'loc'),
    ['b%20&amp;%20c', 'moved', '%C4%8C'].map((name) => `https://wiki.example/wiki/${name}`))
  for (const time of valuesIn(body, 'lastmod')) assert.ok(Date.now() - Date.parse(time) < 600_000, time)
  const again = await get(app, '/sitemap/1.xml', { 'if-none-match': String(headers.etag) })
  assert.equal(again.statusCode, 304)
})

test('parts that are none, and unknown parameters, are refused or ignored as everywhere', async (t) => {
  const app = await wiki.build(t)
  for (const part of ['2.xml', '99999.xml']) assert.equal((await get(app, `/sitemap/${part}`)).statusCode, 404, part)
  for (const part of ['0.xml', '1', '1.xml.gz', '100000.xml', '-1.xml', 'a.xml', '%00.xml']) {
    assert.equal((await get(app, `/sitemap/${part}`)).statusCode, 400, part)
  }
  const { statusCode, headers } = await get(app, '/sitemap.xml?x=1')
  assert.deepEqual([statusCode, headers.location], [301, '/sitemap.xml'])
})

test('parts have as many pages as they should, and are found without reading a page', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: `${uri}&monitorCommands=true` })
  const names = Array.from({ length: 25 }, (_, index) => `page ${String(index).padStart(2, '0')}`)
  for (const name of names) await save(app, name, 'text')
  for (const name of ['page 03', 'page 17']) await app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(name)}` })
  const connection = await mongoose.createConnection(`${uri}&monitorCommands=true`).asPromise()
  t.after(() => connection.close())
  /** @type {any[]} */
  const commands = []
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (commandName === 'find') commands.push(command)
  })
  const sitemap = createSitemap(defineModels(connection), { perPart: 10 })
  assert.equal(await sitemap.parts(), 3)
  for (const { lsid: _, $clusterTime, $db, ...command } of [...commands]) {
    const { executionStats } = await connection.getClient().db($db).command({ explain: command, verbosity: 'executionStats' })
    assert.equal(executionStats.totalDocsExamined, 0)
    assert.ok(executionStats.totalKeysExamined <= 12)
  }
  assert.equal(commands.length, 3)
  const parts = await Promise.all([1, 2, 3, 4].map((part) => sitemap.pages(part)))
  assert.deepEqual(parts.map((pages) => pages?.length), [10, 10, 3, undefined])
  assert.deepEqual(parts.flatMap((pages) => pages?.map(({ name }) => name) ?? []),
    names.filter((name) => name !== 'page 03' && name !== 'page 17'))
})
