import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPurgeOf } from '@stevec/cdn/wiki'
import mongoose from 'mongoose'
import { startFake, TOKEN } from '@stevec/cdn/test/fake/cloudflare'
import { startMongod } from '@stevec/harness/mongod'
import { waitUntil } from '@stevec/harness/processes'
import { purgeKeysOf } from '../src/caching/invalidation.js'
import { createPurgeQueue } from '../src/caching/purge-queue.js'
import { createPurgeQueues } from '../src/caching/purge-queues.js'
import { createEntries } from '../src/queue/entries.js'
import { purgeEntry } from './purge-entry.js'

/** @typedef {import('../src/caching/invalidation.js').Stale} Stale */
/** @typedef {import('../src/caching/purge-queue.js').Timing} Timing */

const WAIT_MAX_MS = 60_000
/** As `checkMs`, longer than any test: a queue wakes only for work of its own process. */
const SELDOM_MS = 3_600_000
const QUICK = { gatherMs: 5, repeatAfterMs: 30, retryMs: 5, retryMaxMs: 20, checkMs: 20, everythingAfterMs: 30 }

/** @type {Awaited<ReturnType<typeof startMongod>>} */
let mongod
before(async () => { mongod = await startMongod() })
after(() => mongod.stop())

let databases = 0
const freshUri = () => mongod.uriFor(`queues_${++databases}`)

/** @param {import('node:test').TestContext} t @param {string} uri */
async function connect (t, uri) {
  const options = { monitorCommands: true, bufferCommands: false, autoIndex: false, autoCreate: false }
  const connection = await mongoose.createConnection(uri, options).asPromise()
  t.after(() => connection.close())
  return connection
}

/**
 * Opens a queue as one process does, with its own connection, and records its log lines and database commands.
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 * @param {import('../src/caching/purge-batch.js').Purge} purge
 * @param {Partial<Timing>} [timing]
 */
async function openQueue (t, uri, purge, timing = {}) {
  const connection = await connect(t, uri)
  /** @type {string[]} */
  const commands = []
  const onQueue = new Set()
  connection.getClient().on('commandStarted', ({ commandName, command, requestId }) => {
    if (command[commandName] === 'queue') onQueue.add(requestId)
  }).on('commandSucceeded', ({ commandName, requestId }) => {
    if (onQueue.delete(requestId)) commands.push(commandName)
  })
  /** @type {{level: string, fields: any, message: string}[]} */
  const lines = []
  const note = (/** @type {string} */ level) => (/** @type {any[]} */ ...given) => {
    const message = given.pop()
    lines.push({ level, fields: given[0] ?? {}, message })
  }
  const log = /** @type {any} */ ({ warn: note('warn'), error: note('error') })
  const staleOf = (/** @type {any} */ { name }) => /** @type {Stale} */ ({ everything: false, urls: [name], tags: [] })
  const staleByCounts = () => null
  const queue = createPurgeQueue({ connection, purge, staleOf, staleByCounts, log, timing: { ...QUICK, ...timing } })
  await queue.open()
  t.after(queue.close)
  /**
   * Edits pages at this process.
   * @param {string[]} names
   */
  const edit = async (...names) => {
    const session = await connection.startSession()
    const tasks = queue.ofCommits(/** @type {any[]} */ (names.map((name) => ({ name }))))
    await session.withTransaction(() => createEntries(connection).add(tasks, session))
    await session.endSession()
    queue.added()
  }
  return { commands, lines, edit, connection, close: queue.close }
}

/**
 * Opens the collection of the queue's entries.
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 */
const entriesOf = async (t, uri) => {
  const { db } = await connect(t, uri)
  return /** @type {import('mongodb').Db} */ (db).collection('queue')
}

/** @param {string} message @param {Partial<import('../src/caching/purge-batch.js').PurgeError>} facts */
const rejection = (message, facts) => Object.assign(new Error(message), facts)

test('two processes never purge the same entry at the same time: each is purged twice in all', async (t) => {
  const uri = freshUri()
  const entries = await entriesOf(t, uri)
  const urls = Array.from({ length: 1_000 }, (_entry, index) => `/wiki/${index}`)
  await entries.insertMany(urls.map((url) => purgeEntry([url])))
  /** @type {Map<string, number>} */
  const told = new Map()
  const calls = [0, 0]
  const purgeOf = (/** @type {number} */ queue) => async (/** @type {Stale} */ stale) => {
    assert.ok(!stale.everything)
    calls[queue] += 1
    for (const url of stale.urls) told.set(url, (told.get(url) ?? 0) + 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await Promise.all([0, 1].map((queue) => openQueue(t, uri, purgeOf(queue))))
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
  assert.deepEqual([...new Set(told.values())], [2])
  assert.equal(told.size, urls.length)
  assert.ok(calls[0] > 0 && calls[1] > 0, `both processes purged: ${calls}`)
})

test('a purge that ends after its lease does not undo the claim of the process that took over', async (t) => {
  const uri = freshUri()
  const entries = await entriesOf(t, uri)
  await entries.insertOne(purgeEntry(['/wiki/a']))
  /** @type {(() => void)[]} */
  const held = []
  const hold = () => /** @type {Promise<void>} */ (new Promise((resolve) => { held.push(resolve) }))
  const late = await openQueue(t, uri, hold, { leaseMs: 3_000, checkMs: SELDOM_MS })
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  await openQueue(t, uri, hold, { leaseMs: 3_000 })
  assert.ok(await waitUntil(() => held.length === 2, WAIT_MAX_MS), 'the lease expires')

  const claimed = await entries.findOne({})
  const updates = () => late.commands.filter((name) => name === 'update').length
  const before = updates()
  held[0]()
  assert.ok(await waitUntil(() => updates() > before, WAIT_MAX_MS))
  assert.deepEqual(await entries.findOne({}), claimed)
  held[1]()
  assert.ok(await waitUntil(() => held.length === 3, WAIT_MAX_MS), 'the purge is repeated')
  held[2]()
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
})

test('a refused entry does not block its batch, and a purge of everything replaces it', async (t) => {
  const uri = freshUri()
  const entries = await entriesOf(t, uri)
  const good = Array.from({ length: 63 }, (_entry, index) => `/wiki/${index}`)
  await entries.insertMany([...good.slice(0, 20), '/wiki/bad', ...good.slice(20)].map((url) => purgeEntry([url])))
  /** @type {Map<string, number>} */
  const told = new Map()
  let everything = 0
  let refused = 0
  const { lines } = await openQueue(t, uri, async (stale) => {
    if (stale.everything) { everything++; return }
    if (stale.urls.includes('/wiki/bad')) { refused++; throw rejection('400, this URL is too long', { refused: true }) }
    for (const url of stale.urls) told.set(url, (told.get(url) ?? 0) + 1)
  })
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS), 'the queue becomes empty')
  assert.deepEqual([told.size, everything], [good.length, 2])
  for (const [url, times] of told) assert.ok(times + everything > 2 && times <= 2, `${url} by name: ${times}`)
  assert.equal(refused, 7, 'a batch of 64 entries is halved six times')
  assert.equal(lines.length, 1, 'the refusal is logged once')
  assert.deepEqual([lines[0].level, lines[0].fields.items], ['error', ['/wiki/bad']])
  assert.match(lines[0].message, /400, this URL is too long/)
})

test('caches that refuse everything get few retries, and a full purge once they accept again', async (t) => {
  const uri = freshUri()
  const entries = await entriesOf(t, uri)
  await entries.insertMany(Array.from({ length: 200 }, (_entry, index) => purgeEntry([`/wiki/${index}`])))
  let mended = false
  let named = 0
  /** @type {Stale[]} */
  const told = []
  const { lines } = await openQueue(t, uri, async (stale) => {
    if (mended) { told.push(stale); return }
    if (!stale.everything) named++
    throw rejection('400, the token is malformed', { refused: true })
  })
  assert.ok(await waitUntil(() => lines.some(({ message }) => /attempt 4/.test(message)), WAIT_MAX_MS))
  assert.ok(named <= 32, `${named} calls with names for 200 entries`)
  assert.equal(await entries.countDocuments(), 1, 'one purge of everything stays in the queue')
  mended = true
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
  assert.deepEqual(told, [{ everything: true }, { everything: true }])
})

test('no purge is sent before the Retry-After time of the caches, even after new edits', async (t) => {
  const retryAfterMs = 1_500
  /** @type {number[]} */
  const calls = []
  const { edit, lines } = await openQueue(t, freshUri(), async () => {
    calls.push(performance.now())
    if (calls.length === 1) throw rejection('429, too many', { retryAfterMs })
  })
  await edit('/wiki/a')
  assert.ok(await waitUntil(() => lines.length === 1, WAIT_MAX_MS))
  await edit('/wiki/b')
  assert.ok(await waitUntil(() => calls.length >= 2, WAIT_MAX_MS))
  // Node's timers may fire a millisecond early.
  assert.ok(calls[1] - calls[0] >= retryAfterMs - 1)
})

test('when Cloudflare refuses one URL of a batch, the other URLs are still purged', async (t) => {
  const fake = await startFake(t)
  const publicUrl = 'https://example.com'
  const purge = await createPurgeOf({ zoneId: fake.zone.id, apiUrl: fake.url, token: TOKEN, publicUrl })
  const uri = freshUri()
  const entries = await entriesOf(t, uri)
  // The second entry's URL has another host: https://example.com.elsewhere/a
  await entries.insertMany([purgeEntry(['/wiki/a']), purgeEntry(['.elsewhere/a']), purgeEntry(['/wiki/b'])])
  const { lines } = await openQueue(t, uri, purge)
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
  const purged = fake.zone.purges.map((body) => JSON.stringify(body)).join()
  for (const path of ['/wiki/a', '/wiki/b']) assert.ok(purged.includes(`"https://example.com${path}"`), path)
  assert.match(purged, /"hosts":\["example\.com"\]/)
  assert.deepEqual(lines.map(({ fields }) => fields.items), [['.elsewhere/a']])
  assert.match(lines[0].message, /Invalid purge item .* \(1048\)/)
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(TOKEN))
})

test('an idle process only checks the queue at intervals; work of another process does not wake it', async (t) => {
  const uri = freshUri()
  const checkMs = 100
  const idle = await Promise.all([1, 2].map(() => openQueue(t, uri, async () => {}, { checkMs })))
  assert.ok(await waitUntil(() => idle.every(({ commands }) => commands.length > 0), WAIT_MAX_MS))
  const start = performance.now()
  const before = idle.map(({ commands }) => commands.length)
  const haveLooked = () => idle.every(({ commands }, queue) => commands.length > before[queue] + 20)
  assert.ok(await waitUntil(haveLooked, WAIT_MAX_MS))
  const looks = (performance.now() - start) / checkMs + 1
  for (const [queue, { commands }] of idle.entries()) {
    assert.ok(commands.length - before[queue] <= looks, `${commands.length - before[queue]} commands in ${looks} looks`)
    assert.deepEqual([...new Set(commands)], ['find'])
  }
  await Promise.all(idle.map(({ close }) => close()))

  let told = 0
  const purge = async () => { told += 1 }
  // The repeat is late enough for the other process to check the queue first.
  const busy = await openQueue(t, uri, purge, { checkMs: SELDOM_MS, repeatAfterMs: 5_000 })
  await busy.edit('/wiki/a')
  assert.ok(await waitUntil(() => told === 1, WAIT_MAX_MS))
  const other = await openQueue(t, uri, purge, { checkMs: SELDOM_MS })
  assert.ok(await waitUntil(() => told === 2, WAIT_MAX_MS))
  const entries = await entriesOf(t, uri)
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
  assert.equal(told, 2)
  assert.deepEqual(other.commands, ['find'])
})

test('each database outage is logged once with its cause, and purges continue after it', async (t) => {
  const uri = freshUri()
  let told = 0
  const { connection, lines, edit } = await openQueue(t, uri, async () => { told += 1 })
  const complaints = () => lines.filter(({ message }) => /queue of purges cannot be read/.test(message))
  for (const outage of [1, 2]) {
    await edit(`/wiki/${outage}`)
    assert.ok(await waitUntil(() => told === 2 * outage, WAIT_MAX_MS))
    await connection.close()
    assert.ok(await waitUntil(() => complaints().length === outage, WAIT_MAX_MS))
    // Time for further attempts.
    await new Promise((resolve) => setTimeout(resolve, 20 * QUICK.retryMs))
    assert.equal(complaints().length, outage)
    assert.match(complaints()[outage - 1].message, /closed|connect/i)
    await connection.openUri(uri)
  }
})

test('while one of several caches is away, the others are purged at once; it is purged when it is back', async (t) => {
  const uri = freshUri()
  const [far, near] = ['https://far.example', 'https://near.example']
  /** @type {Record<string, string[]>} */
  const purged = { [far]: [], [near]: [] }
  let isAway = true
  const purgeOf = (/** @type {string} */ api) => async (/** @type {Stale} */ stale) => {
    if (api === far && isAway) throw rejection('no route to the caches', { retryAfterMs: 2_000 })
    assert.ok(!stale.everything)
    purged[api].push(...stale.urls)
  }
  const entries = await entriesOf(t, uri)
  const ofFormer = purgeEntry(['/of-a-former-cache'], { api: 'https://gone.example' })
  await entries.insertMany([purgeEntry(['/of-one-cache']), ofFormer])
  const connection = await connect(t, uri)
  /** @type {string[]} */
  const lines = []
  const log = /** @type {any} */ ({ warn: (/** @type {string} */ line) => lines.push(line) })
  const queue = createPurgeQueues({
    connection,
    log,
    purges: { [far]: purgeOf(far), [near]: purgeOf(near) },
    staleOf: (/** @type {any} */ { name }) => /** @type {Stale} */ ({ everything: false, ...purgeKeysOf([name]) }),
    staleByCounts: () => null,
    timing: QUICK
  })
  await queue.open()
  t.after(queue.close)
  const edit = async (/** @type {string} */ name) => {
    const tasks = queue.ofCommits(/** @type {any[]} */ ([{ name }]))
    await connection.transaction((session) => createEntries(connection).add(tasks, session))
    queue.added()
  }
  await edit('a')
  assert.ok(await waitUntil(() => lines.some((line) => /no route to the caches/.test(line)), WAIT_MAX_MS))
  for (const name of ['b', 'c']) {
    await edit(name)
    await queue.waitUntilPurged([name])
    assert.ok(purged[near].includes(`/wiki/${name}`), 'an author waits for the caches that respond')
    assert.equal(await queue.isPurged([name]), false)
  }
  assert.deepEqual(purged[far], [])
  assert.equal(queue.state().failing, true)

  isAway = false
  assert.ok(await waitUntil(async () => await entries.countDocuments() === 0, WAIT_MAX_MS))
  assert.equal(await queue.isPurged(['a', 'b', 'c']), true)
  assert.equal(queue.state().failing, false)
  for (const name of ['a', 'b', 'c']) {
    for (const api of [far, near]) {
      assert.equal(purged[api].filter((url) => url === `/wiki/${name}`).length, 2, `${name} at ${api}`)
    }
  }
  for (const url of ['/of-one-cache', '/of-a-former-cache']) {
    assert.equal(purged[far].filter((one) => one === url).length, 2, url)
  }
  assert.ok(!purged[near].some((url) => url.startsWith('/of-')))
})
