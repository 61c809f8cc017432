import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { tagOf } from '../src/caching/invalidation.js'
import { PURGE } from '../src/caching/purge-entries.js'
import { get, save, submit, useWiki } from './helper.js'
import { purgeEntry } from './purge-entry.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const WAIT_MAX_MS = 60_000
const TOLD_BY_TAG = Object.freeze({
  CACHE_POLICY: 'purge-tag',
  CACHE_CDN_TTL_S: '60',
  PURGE_ZONE: 'zone',
  PUBLIC_URL: 'https://wiki.example',
  PURGE_TOKEN: 'token-in-the-environment'
})
const QUICK = { gatherMs: 5, repeatAfterMs: 30, retryMs: 5, retryMaxMs: 20, checkMs: 50 }
const PATIENT = { ...QUICK, confirmMs: 120_000 }

const wiki = useWiki()

/** @typedef {import('../src/caching/invalidation.js').Stale} Stale */

/** Creates fake caches that record their purges; `away` makes them unreachable. */
function createCaches () {
  return {
    away: false,
    attempts: 0,
    /** @type {Stale[]} */
    told: [],
    /** @param {Stale} stale */
    async purge (stale) {
      this.attempts += 1
      if (this.away) throw new Error('no route to the caches')
      this.told.push(stale)
    },
    /** @param {string} url */
    count (url) { return this.told.filter((stale) => stale.everything || stale.urls.includes(url)).length }
  }
}

/**
 * Opens the collection of the queue's entries.
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 */
async function openQueue (t, uri) {
  const client = await new MongoClient(uri).connect()
  t.after(() => client.close())
  return client.db().collection('queue')
}

test('entries that are due together become one purge, which is repeated once; then the queue is empty', async (t) => {
  const uri = wiki.freshUri()
  const queue = await openQueue(t, uri)
  await queue.insertMany(Array.from({ length: 10 }, (_entry, index) => purgeEntry(['/', `/wiki/${index}`])))
  const caches = createCaches()
  await wiki.build(t, { MONGODB_URI: uri }, { purge: (stale) => caches.purge(stale), timing: QUICK })
  assert.ok(await waitUntil(async () => await queue.countDocuments() === 0, WAIT_MAX_MS))
  const all = {
    everything: false,
    urls: ['/', ...Array.from({ length: 10 }, (_entry, index) => `/wiki/${index}`)],
    tags: []
  }
  assert.deepEqual(caches.told, [all, all])
})

test('many edits in a row cause no warning of Node', async (t) => {
  const warned = t.mock.fn()
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const caches = createCaches()
  const timing = { ...QUICK, gatherMs: 1, checkMs: 60_000 }
  const app = await wiki.build(t, {}, { purge: (stale) => caches.purge(stale), timing })
  for (let edit = 1; edit <= 30; edit++) {
    await save(app, `a${edit}`, 'text')
    assert.ok(await waitUntil(() => caches.count(`/wiki/a${edit}`) > 0, WAIT_MAX_MS, 5))
  }
  assert.deepEqual(warned.mock.calls.map(({ arguments: [warning] }) => warning.message), [])
})

test('an entry that a wrong clock dated an hour ahead is purged at once', async (t) => {
  const uri = wiki.freshUri()
  const queue = await openQueue(t, uri)
  await queue.insertOne(purgeEntry(['/wiki/a'], { dueAt: new Date(Date.now() + 3_600_000) }))
  const caches = createCaches()
  await wiki.build(t, { MONGODB_URI: uri }, { purge: (stale) => caches.purge(stale), timing: QUICK })
  assert.ok(await waitUntil(() => caches.count('/wiki/a') === 2, WAIT_MAX_MS))
})

test('unreachable caches delay no edit; once they are back, a later process sends all purges', async (t) => {
  const uri = wiki.freshUri()
  const caches = createCaches()
  caches.away = true
  const options = { purge: (/** @type {Stale} */ stale) => caches.purge(stale), timing: QUICK }
  const app = await wiki.build(t, { MONGODB_URI: uri }, options)
  for (const name of ['a', 'b', 'c']) assert.equal((await save(app, name, 'text')).statusCode, 201)
  assert.ok(await waitUntil(() => caches.attempts >= 5, WAIT_MAX_MS), 'the purge is retried')
  await app.close()

  caches.away = false
  const next = await wiki.build(t, { MONGODB_URI: uri }, options)
  const queue = await openQueue(t, uri)
  assert.ok(await waitUntil(async () => await queue.countDocuments() === 0, WAIT_MAX_MS))
  for (const name of ['a', 'b', 'c']) assert.equal(caches.count(`/wiki/${name}`), 2)
  assert.equal((await get(next, '/wiki/a')).statusCode, 200)
})

test('an author is redirected once the caches confirm the purge; a program does not wait', async (t) => {
  const uri = wiki.freshUri()
  let confirm = () => {}
  const confirmed = new Promise((resolve) => { confirm = () => resolve(undefined) })
  const caches = { purge: async () => { await confirmed }, timing: PATIENT }
  const app = await wiki.build(t, { MONGODB_URI: uri, ...TOLD_BY_TAG }, caches)
  assert.equal((await save(app, 'a', 'by a program')).statusCode, 201)
  const seen = await get(app, '/wiki/a?saved=1')
  assert.match(seen.body, /The caches have not confirmed yet/)

  let answered = false
  const saving = submit(app, 'b', { content: 'by an author' }).then((answer) => {
    answered = true
    return answer
  })
  const queue = await openQueue(t, uri)
  assert.ok(await waitUntil(async () => await queue.countDocuments() === 2, WAIT_MAX_MS))
  assert.equal(answered, false)
  confirm()
  const { statusCode, headers } = await saving
  assert.equal(statusCode, 303)
  assert.equal(await queue.countDocuments({ kind: PURGE, done_up_to: '', 'content.tags': tagOf('b') }), 0, 'the response came after the purge')
  const told = await get(app, String(headers.location))
  assert.match(told.body, /The caches have forgotten the previous text\. Everybody sees it from now on\./)
})

test('an author does not wait for unreachable caches; the notice says that the purge is unconfirmed', async (t) => {
  const caches = createCaches()
  caches.away = true
  const app = await wiki.build(t, TOLD_BY_TAG, { purge: (stale) => caches.purge(stale), timing: QUICK })
  for (const [name, path] of [['a', '/wiki/a?saved=1'], ['b', '/wiki/b?saved=1']]) {
    assert.equal((await submit(app, name, { content: 'text' })).headers.location, path)
    assert.match((await get(app, path)).body,
      /The caches have not confirmed yet .* you and others .* for up to 1 minute\./)
  }
  caches.away = false
  const isPurged = async () => /The caches have forgotten/.test((await get(app, '/wiki/b?saved=1')).body)
  assert.ok(await waitUntil(isPurged, WAIT_MAX_MS))
})

test('an author waits for a purge that another process makes', async (t) => {
  const uri = wiki.freshUri()
  const caches = createCaches()
  // The first process batches edits for 10 minutes, so it sends no purge before the end of this test.
  const settings = { MONGODB_URI: uri, ...TOLD_BY_TAG }
  const purge = (/** @type {Stale} */ stale) => caches.purge(stale)
  const idle = await wiki.build(t, settings, { purge, timing: { ...PATIENT, gatherMs: 600_000 } })
  await wiki.build(t, settings, { purge, timing: QUICK })
  const { headers } = await submit(idle, 'a', { content: 'text' })
  assert.match((await get(idle, String(headers.location))).body, /The caches have forgotten the previous text\./)
})

test('an edit that is refused or loses a write conflict adds no entry to the queue', async (t) => {
  const uri = wiki.freshUri()
  const caches = createCaches()
  caches.away = true
  const app = await wiki.build(t, { MONGODB_URI: uri }, { purge: (stale) => caches.purge(stale), timing: QUICK })
  const queue = await openQueue(t, uri)
  await save(app, 'a', 'text')
  const before = await queue.countDocuments()
  assert.equal(before, 1)
  assert.equal((await save(app, 'a', 'other', { 'if-none-match': '*' })).statusCode, 412)
  assert.equal(await queue.countDocuments(), before)
  const results = await Promise.all(Array.from({ length: 8 }, (_edit, index) =>
    save(app, 'b', `text ${index}`, { 'if-none-match': '*' })))
  assert.equal(results.filter(({ statusCode }) => statusCode === 201).length, 1)
  assert.equal(await queue.countDocuments(), before + 1)
})

test('a queue of more than 10 000 entries becomes one purge of everything', async (t) => {
  const uri = wiki.freshUri()
  const queue = await openQueue(t, uri)
  await queue.insertMany(Array.from({ length: 10_001 }, (_entry, index) => purgeEntry([`/wiki/${index}`])))
  const caches = createCaches()
  caches.away = true
  await wiki.build(t, { MONGODB_URI: uri }, { purge: (stale) => caches.purge(stale), timing: QUICK })
  assert.ok(await waitUntil(async () => await queue.countDocuments() === 1, WAIT_MAX_MS))
  caches.away = false
  assert.ok(await waitUntil(async () => await queue.countDocuments() === 0, WAIT_MAX_MS))
  assert.deepEqual(caches.told, [{ everything: true }, { everything: true }])
})

test('another process purges the entries that a dead process had claimed', async (t) => {
  const uri = wiki.freshUri()
  const queue = await openQueue(t, uri)
  await queue.insertOne(purgeEntry(['/wiki/a'], { dueAt: new Date(Date.now() + 500) }))
  const caches = createCaches()
  await wiki.build(t, { MONGODB_URI: uri }, { purge: (stale) => caches.purge(stale), timing: QUICK })
  assert.ok(await waitUntil(() => caches.count('/wiki/a') === 2, WAIT_MAX_MS))
})

/**
 * Starts the wiki as a process, with the settings of an operator.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} settings
 */
async function startServer (t, settings) {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, CACHE_TTL_S: '600', WRITES_PER_MINUTE: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { log += text })
  await once(createInterface(child.stdout), 'line')
  return { child, log: () => log }
}

/** @param {string} url @param {string} text */
const write = (url, text) =>
  request(url, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: text, timeoutMs: WAIT_MAX_MS })

/**
 * Starts the real edge, with an origin that forwards every request to the wiki at this port.
 * @param {import('node:test').TestContext} t
 * @param {number} port
 */
const startEdgeBefore = (t, port) => startEdge(t, (incoming, response) => {
  incoming.pipe(http.request({
    host: '127.0.0.1',
    port,
    path: incoming.url,
    method: incoming.method,
    headers: incoming.headers
  }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  }).on('error', () => response.destroy()))
})

for (const policy of ['purge-url', 'purge-tag']) {
  test(`under ${policy} the edge caches a page until it is edited, and browsers revalidate it`, async (t) => {
    const [port] = await freePorts(1)
    const edge = await startEdgeBefore(t, port)
    const uri = wiki.freshUri()
    const queue = await openQueue(t, uri)
    await startServer(t, {
      PORT: String(port),
      MONGODB_URI: uri,
      CACHE_POLICY: policy,
      PUBLIC_URL: `http://${edge.host}`,
      PURGE_ZONE: 'stevec',
      PURGE_TOKEN: edge.control.token,
      PURGE_URL: edge.control.url,
      PURGE_REPEAT_AFTER_S: '1'
    })
    const cached = async (/** @type {string} */ name) => {
      const { body, cache } = await edge.get(`/wiki/${name}`)
      return `${cache} ${/text \d/.exec(body)?.[0]}`
    }
    for (const name of ['a', 'b']) await write(`http://127.0.0.1:${port}/wiki/${name}`, 'text 1')
    assert.ok(
      await waitUntil(async () => await queue.countDocuments({}) === 0, WAIT_MAX_MS),
      'both purges for the first texts are done'
    )
    for (const name of ['a', 'b']) {
      assert.ok(await waitUntil(async () => await cached(name) === 'HIT text 1', WAIT_MAX_MS))
    }
    await write(`http://127.0.0.1:${port}/wiki/a`, 'text 2')
    assert.ok(await waitUntil(async () => await cached('a') === 'HIT text 2', WAIT_MAX_MS))
    assert.equal(await cached('b'), 'HIT text 1', 'an edit of one page does not purge the others')

    const { headers } = await edge.get('/wiki/a')
    assert.deepEqual(
      [headers['cache-control'], headers['cdn-cache-control'], headers['cache-tag']],
      ['public, no-cache', 'max-age=86400', undefined]
    )
    const again = await edge.get('/wiki/a', { 'if-none-match': String(headers.etag) })
    assert.deepEqual([again.status, again.cache], [304, 'HIT'], 'the edge answers a conditional request')
    assert.ok(await waitUntil(() => controlled(edge).some(({ kind, items }) =>
      kind === (policy === 'purge-url' ? 'files' : 'tags') && items > 0), WAIT_MAX_MS))
  })
}

/**
 * Reads the log of the edge's control listener.
 * @param {{directory: string}} edge
 */
const controlled = ({ directory }) => readFileSync(path.join(directory, 'control.log'), 'utf8')
  .split('\n')
  .slice(0, -1)
  .map((line) => JSON.parse(line))

test('an edit purges the copy at the edge, even if the purge listener was down ' +
  'and the wiki was killed meanwhile', async (t) => {
  const [port] = await freePorts(1)
  const edge = await startEdgeBefore(t, port)
  const uri = wiki.freshUri()
  const settings = {
    PORT: String(port),
    MONGODB_URI: uri,
    PUBLIC_URL: `http://${edge.host}`,
    PURGE_ZONE: 'stevec',
    PURGE_TOKEN: edge.control.token,
    PURGE_URL: edge.control.url,
    LOG_LEVEL: 'trace'
  }
  const read = async () => {
    const { body, cache } = await edge.get('/wiki/a')
    return `${cache} ${/text \d/.exec(body)?.[0]}`
  }
  const first = await startServer(t, settings)
  await write(`http://127.0.0.1:${port}/wiki/a`, 'text 1')
  const queue = await openQueue(t, uri)
  assert.ok(await waitUntil(async () => await queue.countDocuments({ kind: PURGE, done_up_to: '' }) === 0, WAIT_MAX_MS))
  assert.deepEqual([await read(), await read()], ['MISS text 1', 'HIT text 1'])
  await write(`http://127.0.0.1:${port}/wiki/a`, 'text 2')
  assert.ok(
    await waitUntil(async () => await read() === 'HIT text 2', WAIT_MAX_MS),
    'the purge arrived before the copy expired after 600 s'
  )

  first.child.kill('SIGKILL')
  await once(first.child, 'close')
  const [nobody] = await freePorts(1)
  const away = `http://127.0.0.1:${nobody}`
  const second = await startServer(t, { ...settings, PURGE_URL: `${away}/,http://LOCALHOST:${nobody}` })
  assert.equal(
    (await write(`http://127.0.0.1:${port}/wiki/a`, 'text 3')).status,
    200,
    'an edit succeeds without the CDN'
  )
  assert.ok(await waitUntil(() => second.log().includes('caches were not purged'), WAIT_MAX_MS))
  assert.equal(await read(), 'HIT text 2')
  const apis = await queue.distinct('content.api')
  assert.deepEqual(apis, [`${away}/client/v4`, `http://localhost:${nobody}/client/v4`], 'each in one spelling')
  second.child.kill('SIGKILL')
  await once(second.child, 'close')
  // Makes all entries due, so that the test need not wait until the claims of the dead process end.
  await queue.updateMany({}, { $set: { due_at: new Date() } })
  const third = await startServer(t, settings)
  assert.ok(await waitUntil(async () => await read() === 'HIT text 3', WAIT_MAX_MS), 'purged by the next process')
  for (const { log } of [first, second, third]) assert.ok(!log().includes(edge.control.token))
})
