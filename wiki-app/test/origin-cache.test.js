import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import mongoose from 'mongoose'
import { startMongod } from '../../loadgen/src/stack/mongod.js'
import { freePorts } from '../../loadgen/src/stack/ports.js'
import { waitUntil } from '../../loadgen/src/stack/processes.js'
import { viewUrl } from '../src/pages/name.js'
import { createOriginCache } from '../src/pages/origin-cache.js'
import { get, save, useWiki } from './helper.js'

/** Less than the age that a copy reaches by itself, 60 s. */
const WAIT_MAX_MS = 40_000
const quiet = /** @type {any} */ ({ warn () {} })
const view = (/** @type {string} */ text) => ({ page: { html: Buffer.from(text) } })

/**
 * Reads a page until the cache keeps it, which it does once it hears from the database.
 * @param {ReturnType<typeof createOriginCache>} cache
 * @param {string} name
 */
const keeps = (cache, name) => waitUntil(async () => {
  await cache.through(name, async () => view('x'))
  return cache.get(name) !== undefined
}, WAIT_MAX_MS, 20)

describe('copies of pages in the wiki\'s own memory', () => {
  /** @type {Awaited<ReturnType<typeof startMongod>>} */
  let mongod
  /** @type {mongoose.Connection} */
  let connection
  before(async () => {
    mongod = await startMongod()
    connection = await mongoose.createConnection(mongod.uri).asPromise()
  })
  after(async () => {
    await connection.close()
    await mongod.stop()
  })

  /** @param {import('node:test').TestContext} t */
  async function listening (t, { maxBytes = 1_000_000, collection = t.name.replaceAll(' ', '-') } = {}) {
    const pages = /** @type {import('mongodb').Db} */ (connection.db).collection(/** @type {any} */ (collection))
    const cache = createOriginCache({ connection, collection, maxBytes, log: quiet })
    await cache.open()
    t.after(cache.close)
    assert.ok(await keeps(cache, 'first'))
    return { cache, pages }
  }

  test('are good until the page changes, whoever changes it', async (t) => {
    const { cache, pages } = await listening(t)
    await cache.through('a', async () => view('old'))
    await cache.through('b', async () => view('other'))
    assert.equal(cache.get('a')?.page.html.toString(), 'old')
    await pages.insertOne(/** @type {any} */ ({ _id: 'a' }))
    assert.ok(await waitUntil(() => cache.get('a') === undefined, WAIT_MAX_MS, 5))
    assert.equal(cache.get('b')?.page.html.toString(), 'other')
    await cache.through('a', async () => view('new'))
    await pages.deleteOne({ _id: /** @type {any} */ ('a') })
    assert.ok(await waitUntil(() => cache.get('a') === undefined, WAIT_MAX_MS, 5))
  })

  test('are not kept of a read that a change has overtaken', async (t) => {
    const { cache, pages } = await listening(t)
    await cache.through('witness', async () => view('x'))
    const seen = await cache.through('a', async () => {
      await pages.insertMany(/** @type {any[]} */ ([{ _id: 'a' }, { _id: 'witness' }]))
      assert.ok(await waitUntil(() => cache.get('witness') === undefined, WAIT_MAX_MS, 5))
      return view('read before the change')
    })
    assert.equal(seen?.page.html.toString(), 'read before the change')
    assert.equal(cache.get('a'), undefined)
  })

  test('go when the collection does', async (t) => {
    const { cache, pages } = await listening(t)
    await pages.insertOne(/** @type {any} */ ({ _id: 'a' }))
    await cache.through('b', async () => view('x'))
    await pages.drop()
    assert.ok(await waitUntil(() => cache.get('b') === undefined, WAIT_MAX_MS, 5))
  })

  test('take no more memory than they may', async (t) => {
    const { cache } = await listening(t, { maxBytes: 100_000 })
    for (let page = 0; page < 100; page++) await cache.through(String(page), async () => view('x'.repeat(1_000)))
    const kept = Array.from({ length: 100 }, (_, page) => cache.get(String(page))).filter(Boolean).length
    assert.ok(kept >= 5 && kept <= 10, `${kept} pages`)
  })

  test('are not used when the database falls silent', async (t) => {
    const own = await startMongod()
    const connection = await mongoose.createConnection(own.uri, { serverSelectionTimeoutMS: 5_000 }).asPromise()
    const cache = createOriginCache({ connection, collection: 'pages', maxBytes: 1_000_000, log: quiet })
    await cache.open()
    assert.ok(await keeps(cache, 'a'))
    const { pid } = await /** @type {import('mongodb').Db} */ (connection.db).admin().serverStatus()
    process.kill(Number(pid), 'SIGSTOP')
    try {
      assert.ok(await waitUntil(() => cache.get('a') === undefined, WAIT_MAX_MS, 10))
    } finally {
      process.kill(Number(pid), 'SIGCONT')
    }
    assert.ok(await keeps(cache, 'b'))
    await cache.close()
    await connection.close()
    await own.stop()
  })

  test('each outage of the database is logged once, with its cause', async (t) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-origin-cache-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    const [port] = await freePorts(1)
    let own = await startMongod({ port, directory })
    const connection = await mongoose.createConnection(own.uri, { serverSelectionTimeoutMS: 500 }).asPromise()
    /** @type {string[]} */
    const lines = []
    const log = /** @type {any} */ ({ warn: (/** @type {string} */ line) => lines.push(line) })
    const cache = createOriginCache({ connection, collection: 'pages', maxBytes: 1_000_000, log })
    await cache.open()
    t.after(async () => { await cache.close(); await connection.close(); await own.stop() })
    for (const outage of [1, 2]) {
      const keeps = async () => {
        await cache.through('a', async () => view('x'))
        return cache.get('a') !== undefined
      }
      assert.ok(await waitUntil(keeps, 60_000, 20))
      // Longer than what passes for a stream that broke again at once.
      const heardMs = performance.now()
      assert.ok(await waitUntil(async () => performance.now() - heardMs > 4_000 && await keeps(), 60_000, 20))
      await own.stop()
      assert.ok(await waitUntil(() => lines.length >= outage, 60_000, 20), `outage ${outage}`)
      const loggedMs = performance.now()
      // Some more attempts, each of which fails.
      assert.ok(await waitUntil(() => performance.now() - loggedMs > 1_500, 60_000, 20))
      assert.equal(lines.length, outage)
      // What it says depends on what the driver was doing: reading, choosing a server, connecting.
      assert.match(lines[outage - 1], /^no changes of pages are heard of, so none is kept: \w+/)
      own = await startMongod({ port, directory })
    }
  })
})

const wiki = useWiki()

test('a wiki that keeps pages in memory does not ask for them again, shows an edit soon to all and at once to its author', async (t) => {
  const app = await wiki.build(t, { ORIGIN_CACHE_MIB: '8', MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await save(app, 'Kept', 'one')
  let finds = 0
  const client = /** @type {mongoose.Connection} */ (mongoose.connections.at(-1)).getClient()
  client.on('commandStarted', ({ commandName }) => { if (commandName === 'find') finds++ })
  const asks = async () => {
    const before = finds
    assert.equal((await get(app, '/wiki/Kept')).statusCode, 200)
    return finds > before
  }
  assert.ok(await waitUntil(async () => !await asks(), WAIT_MAX_MS, 5))
  const { headers, body } = await get(app, '/wiki/Kept')
  assert.match(body, /one/)
  assert.equal((await get(app, '/wiki/Kept', { 'if-none-match': String(headers.etag) })).statusCode, 304)
  assert.equal(await asks(), false)

  await save(app, 'Kept', 'two')
  assert.match((await get(app, '/wiki/Kept?saved=2')).body, /two/)
  assert.ok(await waitUntil(async () => /two/.test((await get(app, '/wiki/Kept')).body), WAIT_MAX_MS, 5))
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/Kept', headers: { 'if-match': '*' } })).statusCode, 204)
  assert.ok(await waitUntil(async () => (await get(app, '/wiki/Kept')).statusCode === 404, WAIT_MAX_MS, 5))
})

for (const [what, cacheMib, byFrameworkAgain] of /** @type {[string, string, boolean][]} */ ([['a page that is kept', '8', true], ['a page of the database', '0', false]])) {
  test(`${what} is answered without the framework, to the byte as the framework answers it, and is counted; all else is left to it`, (t) => answersFirst(t, cacheMib, byFrameworkAgain))
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} cacheMib
 * @param {boolean} byFrameworkAgain  whether a reader who has a copy is answered by it
 */
async function answersFirst (t, cacheMib, byFrameworkAgain) {
  const app = await wiki.build(t, { ORIGIN_CACHE_MIB: cacheMib })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const names = ['Kept', 'Žaba & Co./Über uns', 'a+b (c)', 'Gone', 'Old name']
  for (const name of names) await save(app, name, `The text of ${name}.`)
  await app.inject({ method: 'DELETE', url: viewUrl('Gone'), headers: { 'if-match': '*' } })
  assert.equal((await app.inject({ method: 'POST', url: '/edit/rename/Old%20name', headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'to=New+name' })).statusCode, 201)

  let handled = 0
  const count = () => { handled++ }
  subscribe('tracing:fastify.request.handler:start', count)
  t.after(() => unsubscribe('tracing:fastify.request.handler:start', count))
  /** @param {string} url @param {Record<string, string>} [headers] */
  const ask = async (url, headers = {}, method = 'GET') => {
    const before = handled
    const response = await fetch(address + url, { method, headers, redirect: 'manual' })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text(), byFramework: handled > before }
  }
  const own = new Set(['date', 'connection', 'keep-alive'])
  const withoutOwn = (/** @type {Record<string, unknown>} */ headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name)).map(([name, value]) => [name, String(value)]))

  for (const name of names.slice(0, 3)) {
    assert.ok(await waitUntil(async () => !(await ask(viewUrl(name))).byFramework, WAIT_MAX_MS, 5), name)
    await app.inject('/wiki/stevec')
    const [first, framework] = [await ask(viewUrl(name)), await get(app, viewUrl(name))]
    assert.equal(first.byFramework, false)
    assert.deepEqual([first.status, first.body], [framework.statusCode, framework.body])
    assert.deepEqual(withoutOwn(first.headers), withoutOwn(framework.headers))
    assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 2, reads: 2, writes: 0 })

    const etag = first.headers.etag
    const spelling = viewUrl(name).replace(/[Ka]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    // fetch asks for a new copy by itself where it is told of an old one, unless it is told what to say.
    const known = { 'if-none-match': etag, 'cache-control': 'max-age=0' }
    const [again, frameworkAgain] = [await ask(viewUrl(name), known), await get(app, viewUrl(name), known)]
    assert.deepEqual([again.status, again.body, again.byFramework], [304, '', byFrameworkAgain])
    assert.deepEqual(withoutOwn(again.headers), withoutOwn(frameworkAgain.headers))
    assert.equal((await ask(viewUrl(name), { ...known, 'if-none-match': '"another"' })).body, first.body)

    for (const [url, headers, method, status] of /** @type {[string, Record<string, string>, string, number][]} */ ([
      [viewUrl(name), {}, 'HEAD', 200], [`${viewUrl(name)}?saved=1`, {}, 'GET', 200], [`${viewUrl(name)}?x`, {}, 'GET', 200], [spelling, {}, 'GET', 301]
    ])) {
      const answer = await ask(url, headers, method)
      assert.deepEqual([answer.status, answer.byFramework], [status, true], `${method} ${url}`)
    }
  }
  for (const [name, status] of /** @type {[string, number][]} */ ([['Gone', 404], ['Old name', 302], ['%', 400], ['never-written', 404]])) {
    await app.inject('/wiki/stevec')
    for (let time = 0; time < 3; time++) assert.equal((await ask(name === '%' ? '/wiki/%' : viewUrl(name))).status, status, name)
    assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 3, reads: 3, writes: 0 })
  }
}

test('where requests are watched, none is answered without the framework', async (t) => {
  const app = await wiki.build(t, { METRICS_PORT: String((await freePorts(1))[0]) })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await save(app, 'Kept', 'text')
  let handled = 0
  const count = () => { handled++ }
  subscribe('tracing:fastify.request.handler:start', count)
  t.after(() => unsubscribe('tracing:fastify.request.handler:start', count))
  for (let asked = 0; asked < 50; asked++) assert.equal((await fetch(`${address}/wiki/Kept`)).status, 200)
  assert.equal(handled, 50)
})
