import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'
import { tagOf, tagsFor, urlsFor } from '../src/caching/invalidation.js'
import { PURGE } from '../src/caching/purge-entries.js'
import { get, save, submit, untilCounted, useWiki } from './helper.js'

const WAIT_MAX_MS = 60_000
/** Longer than a test. */
const NOT_AGAIN_MS = 3_600_000

const wiki = useWiki()

/** @typedef {import('../src/caching/invalidation.js').Stale} Stale */

/** The lists that an edit without an author's name always makes stale. */
const ALWAYS = ['/pages', '/changes', '/changes.atom', '/changes?author=', '/changes.atom?author=']
/** Of what is counted, and `/dead-ends`. */
const LISTS_OF_LINKS = ['/care', '/dead-ends', '/orphaned', '/wanted']
/** @param {string} name */
const ofPage = (name) => [`/wiki/${name}`, `/raw/${name}`, `/history/${name}`]

/** Records the purges that a cache gets. */
function createEar () {
  /** @type {string[]} */
  const urls = []
  return {
    urls,
    /** @param {Stale} stale */
    purge: async (stale) => { urls.push(...(stale.everything ? ['everything'] : [...stale.urls, ...stale.tags])) },
    take () { return [...new Set(urls.splice(0))].sort() }
  }
}

test('an edit purges all URLs it makes stale: page, history, lists, tags and pages whose links change', async (t) => {
  const ear = createEar()
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri }, { purge: ear.purge })
  const db = (await connect(t, uri)).db()
  // The lists of what is counted after the edit are purged after that.
  const told = async () => {
    await untilCounted(app)
    const left = () => db.collection('queue').countDocuments({ kind: PURGE, done_up_to: '' })
    assert.ok(await waitUntil(async () => await left() === 0, WAIT_MAX_MS))
    return ear.take()
  }
  await save(app, 'a', 'see [b](/wiki/b)')
  assert.deepEqual(await told(), [...ALWAYS, ...ofPage('a'), '/links/b', ...LISTS_OF_LINKS].sort())

  await save(app, 'a', 'see [b](/wiki/b), again')
  assert.deepEqual(await told(), [...ALWAYS, ...ofPage('a')].sort(), 'no list of links or of names changed')

  await save(app, 'a', 'see [b](/wiki/b) and [c](/wiki/c)')
  const linked = [...ALWAYS, ...ofPage('a'), '/links/c', ...LISTS_OF_LINKS]
  assert.deepEqual(await told(), linked.sort(), 'a page may have got its first link')

  await submit(app, 'b', { content: 'text', tags: 'x', author: 'Ana B' })
  assert.deepEqual(await told(), [
    '/pages',
    '/changes',
    '/changes.atom',
    '/changes?author=Ana+B',
    '/changes.atom?author=Ana+B',
    ...ofPage('b'),
    '/wiki/a',
    '/tags',
    '/tags/x',
    ...LISTS_OF_LINKS
  ].sort(), 'page a shows its link differently now that the target exists')

  await app.inject({ method: 'POST', url: '/edit/rename/b', payload: { to: 'c' } })
  const renamed = await told()
  for (const url of [...ofPage('b'), ...ofPage('c'), '/tags/x']) assert.ok(renamed.includes(url), url)

  await app.inject({ method: 'DELETE', url: '/wiki/c' })
  const removed = await told()
  for (const url of [...ofPage('c'), '/tags/x', '/tags', ...LISTS_OF_LINKS]) assert.ok(removed.includes(url), url)
})

/** @param {import('node:test').TestContext} t @param {string} uri */
async function connect (t, uri) {
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return client
}

test('every purged URL is a canonical URL of the wiki and gets 200', async (t) => {
  const ear = createEar()
  const app = await wiki.build(t, {}, { purge: ear.purge })
  await submit(app, 'C++ & Č/sub', { content: 'see [x](/wiki/x%20y)', tags: 'r & d', author: 'Ana & Č' })
  assert.ok(await waitUntil(() => ear.urls.length > 0, WAIT_MAX_MS))
  for (const url of ear.take()) assert.equal((await get(app, url)).statusCode, 200, url)
})

test('an edit that changes links on more than 1000 pages purges everything', () => {
  const linking = Array.from({ length: 1_001 }, (_, index) => `p${index}`)
  const commit = { name: 'a', revision: 1, authors: [''], tags: [], linking, links: [], listed: true, above: [] }
  assert.deepEqual(urlsFor(commit), { everything: true })
  assert.deepEqual(tagsFor(commit), { everything: true })
})

test('with purge-tag, an edit purges the Cache-Tag of the page and of pages whose links change', async (t) => {
  const ear = createEar()
  const app = await wiki.build(t, {
    CACHE_POLICY: 'purge-tag',
    PURGE_ZONE: 'zone',
    PUBLIC_URL: 'https://wiki.example',
    PURGE_TOKEN: 'token-in-the-environment'
  }, { purge: ear.purge, timing: { repeatAfterMs: NOT_AGAIN_MS } })
  const told = async () => {
    assert.ok(await waitUntil(() => ear.urls.length > 0, WAIT_MAX_MS))
    return ear.take()
  }
  const tag = async (/** @type {string} */ name) =>
    (await get(app, `/wiki/${encodeURIComponent(name)}`)).headers['cache-tag']
  await save(app, 'a', 'see [b](/wiki/B%20%C4%8D)')
  assert.deepEqual(await told(), [await tag('a')])
  await save(app, 'B č', 'text')
  assert.deepEqual(
    await told(),
    [await tag('a'), await tag('B č')].sort(),
    'page a shows its link differently now that the target exists'
  )
  await app.inject({ method: 'POST', url: '/edit/rename/B%20%C4%8D', payload: { to: 'c' } })
  assert.deepEqual(await told(), [await tag('B č'), await tag('c')].sort(), 'the old name redirects and has a tag')
  for (const name of ['a', 'B č', 'č/'.repeat(80), ', \n"']) assert.match(tagOf(name), /^page-[\w-]{16}$/)
})
