import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import mongoose from 'mongoose'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { cachePolicy } from '../src/caching/cache-policy.js'
import { defineModels } from '../src/pages/model.js'
import { viewUrl } from '../src/pages/name.js'
import { createOriginCache } from '../src/caching/origin-cache.js'
import { createPageStore } from '../src/pages/store.js'
import { createCachingOf, View } from '../src/reading/view.js'
import { createLog, get, readMetrics, save, useWiki } from './helper.js'

/** Less than 60 s, the age at which a copy expires by itself. */
const WAIT_MAX_MS = 40_000
setFlagsFromString('--expose-gc')
/**
 * Frees unreachable memory, which would count as memory in use otherwise.
 * @type {() => void}
 */
const collectGarbage = runInNewContext('gc')
const quiet = /** @type {any} */ ({ warn () {} })

/** @typedef {{text: string, held_bytes: number, detached: () => Text}} Text */
/** @param {string} text @param {number} [heldBytes] @returns {Text} */
const view = (text, heldBytes = 10_000) => ({ text, held_bytes: heldBytes, detached: () => view(text, heldBytes) })

/**
 * Reads a page until the cache stores it. The cache stores nothing before the first report of the change stream.
 * @param {ReturnType<typeof createOriginCache>} cache
 * @param {string} name
 */
const keeps = (cache, name) => waitUntil(async () => {
  await cache.through(name, async () => view('x'))
  return cache.get(name) !== undefined
}, WAIT_MAX_MS, 20)

describe('the cache of pages in the memory of the wiki', () => {
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
    /** @type {import('../src/caching/origin-cache.js').OriginCache<Text>} */
    const cache = createOriginCache({ connection, collection, maxBytes, log: quiet })
    await cache.open()
    t.after(cache.close)
    assert.ok(await keeps(cache, 'first'))
    return { cache, pages }
  }

  test('keeps a copy until its page changes in the database', async (t) => {
    const { cache, pages } = await listening(t)
    await cache.through('a', async () => view('old'))
    await cache.through('b', async () => view('other'))
    assert.equal(cache.get('a')?.text, 'old')
    await pages.insertOne(/** @type {any} */ ({ _id: 'a' }))
    assert.ok(await waitUntil(() => cache.get('a') === undefined, WAIT_MAX_MS, 5))
    assert.equal(cache.get('b')?.text, 'other')
    await cache.through('a', async () => view('new'))
    await pages.deleteOne({ _id: /** @type {any} */ ('a') })
    assert.ok(await waitUntil(() => cache.get('a') === undefined, WAIT_MAX_MS, 5))
  })

  test('stores no copy of a page that changes during the read', async (t) => {
    const { cache, pages } = await listening(t)
    await cache.through('witness', async () => view('x'))
    const seen = await cache.through('a', async () => {
      await pages.insertMany(/** @type {any[]} */ ([{ _id: 'a' }, { _id: 'witness' }]))
      assert.ok(await waitUntil(() => cache.get('witness') === undefined, WAIT_MAX_MS, 5))
      return view('read before the change')
    })
    assert.equal(seen?.text, 'read before the change')
    assert.equal(cache.get('a'), undefined)
  })

  test('drops all copies when the collection is dropped', async (t) => {
    const { cache, pages } = await listening(t)
    await pages.insertOne(/** @type {any} */ ({ _id: 'a' }))
    await cache.through('b', async () => view('x'))
    await pages.drop()
    assert.ok(await waitUntil(() => cache.get('b') === undefined, WAIT_MAX_MS, 5))
  })

  test('keeps no more copies than fit into maxBytes', async (t) => {
    const { cache } = await listening(t, { maxBytes: 100_000 })
    for (let page = 0; page < 100; page++) await cache.through(String(page), async () => view('x'))
    const kept = Array.from({ length: 100 }, (_, page) => cache.get(String(page))).filter(Boolean).length
    assert.ok(kept >= 5 && kept <= 10, `${kept} pages`)
  })

  test('uses no copy while the database does not respond', async (t) => {
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

  test('logs each outage of the database once, with its cause', async (t) => {
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
      // A stream that breaks sooner counts as part of the previous outage.
      const heardMs = performance.now()
      assert.ok(await waitUntil(async () => performance.now() - heardMs > 4_000 && await keeps(), 60_000, 20))
      await own.stop()
      assert.ok(await waitUntil(() => lines.length >= outage, 60_000, 20), `outage ${outage}`)
      const loggedMs = performance.now()
      // Time for further attempts, all of which fail.
      assert.ok(await waitUntil(() => performance.now() - loggedMs > 1_500, 60_000, 20))
      assert.equal(lines.length, outage)
      // The cause depends on what the driver was doing: reading, selecting a server, connecting.
      assert.match(lines[outage - 1], /^the change stream reports no changes, so no pages are cached: \w+/)
      own = await startMongod({ port, directory })
    }
  })
})

const wiki = useWiki()

test('the origin cache saves database reads, and shows an edit at once to its author and soon to all', async (t) => {
  const app = await wiki.build(t, { ORIGIN_CACHE_MIB: '8', MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await save(app, 'Kept', 'one')
  let finds = 0
  const client = /** @type {mongoose.Connection} */ (mongoose.connections.at(-1)).getClient()
  client.on('commandStarted', ({ command }) => { if (command.projection?.html_hash) finds++ })
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
  assert.equal(
    (await app.inject({ method: 'DELETE', url: '/wiki/Kept', headers: { 'if-match': '*' } })).statusCode,
    204
  )
  assert.ok(await waitUntil(async () => (await get(app, '/wiki/Kept')).statusCode === 404, WAIT_MAX_MS, 5))
})

test('a cached page keeps no other memory alive, and all of its memory counts towards the limit', async (t) => {
  const [pages, batch, maxBytes] = [4_000, 100, 4 * 2 ** 20]
  const uri = wiki.freshUri()
  const connection = await mongoose.createConnection(uri).asPromise()
  t.after(() => connection.close())
  await save(
    await wiki.build(t, { MONGODB_URI: uri }),
    'Model',
    `A page of some kB. ${'Lorem ipsum dolor sit amet. '.repeat(150)}`
  )
  const documents = /** @type {import('mongodb').Db} */ (connection.db).collection(/** @type {any} */ ('pages'))
  const model = await documents.findOne({ _id: /** @type {any} */ ('Model') })
  const names = Array.from({ length: pages }, (_, page) => `Page ${page}`)
  await documents.insertMany(/** @type {any[]} */ (names.map((_id) => ({ ...model, _id }))))

  // The stored HTML has this version, so nothing is rendered.
  const renderer = /** @type {any} */ ({ version: model?.renderer })
  const store = createPageStore({
    models: defineModels(connection), renderer, later: async () => {}, readsAtOnce: batch, log: quiet
  })
  const cachingOf = createCachingOf(cachePolicy('revalidate', /** @type {any} */ ({})))
  /** @type {import('../src/caching/origin-cache.js').OriginCache<View>} */
  const cache = createOriginCache({ connection, collection: 'pages', maxBytes, log: quiet })
  await cache.open()
  t.after(cache.close)
  const through = (/** @type {string} */ name) =>
    cache.through(name, async () => new View(/** @type {any} */ (await store.findView(name)), cachingOf, 'open'))
  /**
   * Reads a batch until it is cached: on a busy machine the change stream may be silent for a while, and the cache
   * stores nothing meanwhile.
   * @param {string[]} batch
   */
  const readTogether = (batch) => waitUntil(async () => {
    await Promise.all(batch.map(through))
    return cache.get(batch[batch.length - 1]) !== undefined
  }, 60_000, 20)
  assert.ok(await readTogether(['Model']))

  // One page of each database reply stays in use, so that the cache evicts the others of that reply.
  const used = names.filter((_, page) => page % batch === batch - 1)
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  for (let first = 0; first < pages; first += batch) {
    assert.ok(await readTogether(names.slice(first, first + batch)))
    for (const name of used) cache.get(name)
  }
  assert.ok(await waitUntil(() => used.every((name) => cache.get(name) !== undefined), 60_000, 20))
  const kept = names.map((name) => cache.get(name)).filter((view) => view !== undefined)
  assert.ok(kept.length > maxBytes / 20_000, `${kept.length} pages`)
  for (const view of kept) {
    const { document = Buffer.alloc(0) } = view.ready({}) ?? {}
    assert.equal(document.buffer.byteLength, document.length)
    assert.ok(document.length > 4_000 && view.held_bytes > document.length)
    assert.equal('html' in view.page, false)
  }
  assert.ok(kept.reduce((sum, view) => sum + view.held_bytes, 0) <= maxBytes)

  // Replies of the database that the pages kept alive would be ten times the limit. Those that nothing keeps alive go
  // in the end, but not all at the first collection: V8 frees their memory on another thread.
  let heldBytes = 0
  const held = () => {
    collectGarbage()
    heldBytes = process.memoryUsage().arrayBuffers - before
    return heldBytes <= 1.5 * maxBytes
  }
  assert.ok(await waitUntil(held, 60_000, 100), `${heldBytes} bytes`)
})

for (const [what, cacheMib] of [['a page in the origin cache', '8'], ['a page from the database', '0']]) {
  for (const watched of [false, true]) {
    const title = `the fast path sends ${what} exactly as Fastify does${watched ? ', with metrics and logs' : ''}, ` +
      'and counts the request; other requests go to Fastify'
    test(title, (t) => answersFirst(t, cacheMib, watched))
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} cacheMib
 * @param {boolean} watched
 */
async function answersFirst (t, cacheMib, watched) {
  const [port] = await freePorts(1)
  const { logTo, lines: logged } = createLog()
  const watching = { METRICS_PORT: String(port), LOG_LEVEL: 'info', LOG_VIEWS_PER_S: '1000' }
  const app = await wiki.build(t, { ORIGIN_CACHE_MIB: cacheMib, ...watched && watching }, {}, { logTo })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const names = ['Kept', 'Žaba & Co./Über uns', 'a+b (c)', 'Gone', 'Old name']
  for (const name of names) await save(app, name, `The text of ${name}.`)
  await app.inject({ method: 'DELETE', url: viewUrl('Gone'), headers: { 'if-match': '*' } })
  assert.equal((await app.inject({
    method: 'POST',
    url: '/edit/rename/Old%20name',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'to=New+name'
  })).statusCode, 201)

  let handled = 0
  const count = () => { handled++ }
  subscribe('tracing:fastify.request.handler:start', count)
  t.after(() => unsubscribe('tracing:fastify.request.handler:start', count))
  /** @param {string} url @param {Record<string, string>} [headers] */
  const ask = async (url, headers = {}, method = 'GET') => {
    const before = handled
    const response = await fetch(address + url, { method, headers, redirect: 'manual' })
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
      byFramework: handled > before
    }
  }
  const own = new Set(['date', 'connection', 'keep-alive'])
  const withoutOwn = (/** @type {Record<string, unknown>} */ headers) => Object.fromEntries(
    Object.entries(headers).filter(([name]) => !own.has(name)).map(([name, value]) => [name, String(value)])
  )

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
    // fetch adds `Cache-Control: no-cache` to a conditional request that has no Cache-Control of its own.
    const known = { 'if-none-match': etag, 'cache-control': 'max-age=0' }
    const [again, frameworkAgain] = [await ask(viewUrl(name), known), await get(app, viewUrl(name), known)]
    assert.deepEqual([again.status, again.body, again.byFramework], [304, '', false])
    assert.deepEqual(withoutOwn(again.headers), withoutOwn(frameworkAgain.headers))
    assert.equal((await ask(viewUrl(name), { ...known, 'if-none-match': '"another"' })).body, first.body)

    for (const [url, headers, method, status] of /** @type {[string, Record<string, string>, string, number][]} */ ([
      [viewUrl(name), {}, 'HEAD', 200],
      [`${viewUrl(name)}?saved=1`, {}, 'GET', 200],
      [`${viewUrl(name)}?x`, {}, 'GET', 200],
      [spelling, {}, 'GET', 301]
    ])) {
      const answer = await ask(url, headers, method)
      assert.deepEqual([answer.status, answer.byFramework], [status, true], `${method} ${url}`)
    }
  }
  for (const [name, status] of /** @type {[string, number][]} */ ([
    ['Gone', 404], ['Old name', 302], ['%', 400], ['never-written', 404]
  ])) {
    const url = name === '%' ? '/wiki/%' : viewUrl(name)
    await app.inject('/wiki/stevec')
    for (let time = 0; time < 3; time++) {
      const [first, framework] = [
        await ask(url, { 'x-request-id': 'x' }),
        await get(app, url, { 'x-request-id': 'x', accept: '*/*' })
      ]
      assert.deepEqual([first.status, first.body], [status, framework.body])
      assert.deepEqual(withoutOwn(first.headers), withoutOwn(framework.headers))
    }
    assert.deepEqual((await get(app, '/wiki/stevec')).json(), { requests: 6, reads: 6, writes: 0 })
  }

  const lines = () => logged.filter(({ msg }) => msg === 'request')
  if (!watched) return assert.equal(lines().length, 0)
  // Fastify counts and logs its responses only after it has sent them.
  const counts = async () =>
    [...(await readMetrics(port)).text.matchAll(/^wiki_http_request_duration_seconds_count\{.*\} (\d+)$/gm)]
      .reduce((sum, [, count]) => sum + Number(count), 0)
  const told = () => lines().reduce((sum, { unlogged = 0 }) => sum + 1 + unlogged, 0)
  assert.ok(
    await waitUntil(async () => await counts() === told(), WAIT_MAX_MS, 20),
    'each request is in the metrics and in the log, once'
  )
}

test('a request for a missing page reads the database once', async (t) => {
  const app = await wiki.build(t, { MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await save(app, 'Gone', 'text')
  await app.inject({ method: 'DELETE', url: viewUrl('Gone'), headers: { 'if-match': '*' } })
  let finds = 0
  const client = /** @type {mongoose.Connection} */ (mongoose.connections.at(-1)).getClient()
  client.on('commandStarted', ({ command }) => { if (command.projection?.html_hash) finds++ })
  for (const name of ['Gone', 'never-written']) {
    finds = 0
    assert.equal((await fetch(address + viewUrl(name))).status, 404)
    assert.equal(finds, 1, name)
  }
})
