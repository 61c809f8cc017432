import assert from 'node:assert/strict'
import { test } from 'node:test'
import mongoose from 'mongoose'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { tagOf } from '../src/caching/invalidation.js'
import { realClock } from '../src/process/clock.js'
import { createPurgeLog, logOf } from '../src/purge-log/entries.js'
import { createPurgeLogWatch } from '../src/purge-log/watch.js'
import { get, readMetrics, save, useWiki } from './helper.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
/** The longest bound, so that a slow machine is no failure. */
const BOUNDED = { CACHE_POLICY: 'bounded', CACHE_BOUND_MS: '60000' }

/** @param {import('fastify').FastifyInstance} app @param {string} [after] */
async function ask (app, after) {
  const { statusCode, headers, body } = await get(app, `/purge-log${after === undefined ? '' : `?after=${after}`}`)
  return { statusCode, cacheControl: headers['cache-control'], ...JSON.parse(body) }
}

/** A wiki whose log is known from a position on. @param {import('node:test').TestContext} t @param {string} uri */
async function startWiki (t, uri, settings = {}) {
  const app = await wiki.build(t, { MONGODB_URI: uri, ...BOUNDED, ...settings })
  const { position } = await ask(app)
  return { app, position }
}

test('a follower that knows nothing gets a position, and has to forget everything', async (t) => {
  const app = await wiki.build(t, BOUNDED)
  const answer = await ask(app)
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.cacheControl, 'private, no-store')
  assert.match(answer.position, /^[0-9a-f]{16}$/)
  assert.equal(answer.everything, true)
  assert.equal(answer.bound_ms, 60_000)
})

test('what an edit makes stale is in the log of each process once it is acknowledged, and an answer waits for it',
  async (t) => {
    const uri = wiki.freshUri()
    const one = await startWiki(t, uri)
    const other = await startWiki(t, uri)
    const waiting = ask(other.app, other.position)
    await save(one.app, 'a page', 'text')
    const heard = await waiting
    assert.ok(heard.tags.includes(tagOf('a page')), JSON.stringify(heard))
    assert.ok(heard.position > other.position)
    assert.ok(heard.certified_ms > 0, 'complete after the request came')
    // Both have the same positions.
    const same = await ask(one.app, one.position)
    assert.ok(same.tags.includes(tagOf('a page')))
    const later = await startWiki(t, uri)
    assert.deepEqual((await ask(later.app, heard.position)).everything, true, 'it began after that position')
  })

test('an answer without news comes after two fifths of the bound, and is of a later time', async (t) => {
  const { app, position } = await startWiki(t, wiki.freshUri(), { CACHE_BOUND_MS: '1000' })
  const beganMs = performance.now()
  const answer = await ask(app, position)
  assert.ok(performance.now() - beganMs >= 399)
  assert.deepEqual(answer.tags, [])
  assert.ok(answer.position > position)
  // Of a tenth of the bound before the answer at most.
  assert.ok(answer.certified_ms >= 299, String(answer.certified_ms))
})

test('an edit that is refused is not in the log', async (t) => {
  const { app, position } = await startWiki(t, wiki.freshUri(), { CACHE_BOUND_MS: '500' })
  const refused = await save(app, 'page', 'text', { 'if-match': '"no such revision"' })
  assert.equal(refused.statusCode, 412)
  assert.deepEqual((await ask(app, position)).tags, [])
})

test('a page says the position that it covers, which the request may ask to be a later one', async (t) => {
  const { app } = await startWiki(t, wiki.freshUri())
  await save(app, 'page', 'text')
  const { position } = await ask(app, '0000000000000001')
  const page = await get(app, '/wiki/page', { 'purge-log-after': position })
  assert.equal(page.statusCode, 200)
  assert.ok(String(page.headers['purge-log-position']) >= position)
  assert.equal(page.headers['cache-control'], 'public, no-cache')
  assert.equal(page.headers['stevec-cache-control'], 'max-age=86400')
  assert.equal(page.headers['cache-tag'], tagOf('page'))
  const confirmed = await get(app, '/wiki/page', { 'if-none-match': String(page.headers.etag) })
  assert.equal(confirmed.statusCode, 304)
  assert.match(String(confirmed.headers['purge-log-position']), /^[0-9a-f]{16}$/)
  // Positions that this database has never had, and texts that are none, are no reason to wait for ever.
  for (const after of ['ffffffffffffffff', 'none', '']) {
    assert.equal((await get(app, '/wiki/page', { 'purge-log-after': after })).statusCode, 200)
  }
})

test('a client that has seen a revision makes the wiki read again, whatever it knew before', async (t) => {
  const { app } = await startWiki(t, wiki.freshUri())
  await save(app, 'page', 'text')
  const positionOf = async (/** @type {Record<string, string>} */ headers) =>
    String((await get(app, '/wiki/page', headers)).headers['purge-log-position'])
  const first = await positionOf({})
  assert.equal(await positionOf({}), first, 'within half the bound')
  assert.ok(await positionOf({ 'page-revision-min': '1' }) > first)
})

for (const after of ['x', '0', 'FFFFFFFFFFFFFFFF', '%00', `${'0'.repeat(17)}`, 'a&after=b']) {
  test(`a position that is none is refused: ${after}`, async (t) => {
    const app = await wiki.build(t, BOUNDED)
    assert.equal((await get(app, `/purge-log?after=${after}`)).statusCode, 400)
  })
}

test('the log has no address with another policy', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await get(app, '/purge-log')).statusCode, 404)
})

test('its requests are no requests of visitors', async (t) => {
  const { app, position } = await startWiki(t, wiki.freshUri(), { CACHE_BOUND_MS: '100' })
  await get(app, '/wiki/stevec')
  await ask(app, position)
  assert.equal(JSON.parse((await get(app, '/wiki/stevec')).body).requests, 0)
})

test('the metrics count the requests of followers, what they were sent, and the entries', async (t) => {
  const [port] = await freePorts(1)
  const settings = { METRICS_PORT: String(port), CACHE_BOUND_MS: '100' }
  const { app, position } = await startWiki(t, wiki.freshUri(), settings)
  const read = async () => {
    const { text } = await readMetrics(port)
    const of = (/** @type {string} */ name) =>
      Number(new RegExp(`^wiki_purge_log_${name}_total (\\d+)$`, 'm').exec(text)?.[1])
    return { requests: of('requests'), bytes: of('sent_bytes'), entries: of('entries') }
  }
  const before = await read()
  assert.equal(before.requests, 1)
  await save(app, 'a page', 'text')
  const { body } = await get(app, `/purge-log?after=${position}`)
  assert.ok(body.includes(tagOf('a page')))
  const after = await read()
  assert.equal(after.requests, 2)
  assert.equal(after.bytes - before.bytes, Buffer.byteLength(body))
  assert.ok(after.entries > before.entries)
})

/** @param {import('node:test').TestContext} t @param {Partial<import('../src/purge-log/watch.js').Timing>} [timing] */
async function startWatch (t, timing = {}, uri = wiki.freshUri(), clock = realClock) {
  const connection = await mongoose.createConnection(uri).asPromise()
  /** @type {string[]} */
  const lines = []
  const log = { warn: (/** @type {string} */ line) => { lines.push(line) } }
  const watch = createPurgeLogWatch({ connection, log: /** @type {any} */ (log), timing, clock })
  const entries = logOf(connection)
  await watch.open()
  t.after(async () => {
    await watch.close()
    await connection.close()
  })
  const append = (/** @type {string} */ tag) => entries.insertOne({
    _id: new mongoose.Types.ObjectId(), at: new Date(), stale: { everything: false, tags: [tag] }
  })
  const after = (/** @type {string | undefined} */ position) => watch.after(position, { waitMs: 0, ageMaxMs: 0 })
  return { connection, watch, entries, append, after, lines }
}

test('entries are read from each position, in the order of their commits', async (t) => {
  const { append, after } = await startWatch(t)
  let { position } = await after(undefined)
  const positions = [position]
  for (const tag of ['a', 'b', 'c']) {
    await append(tag)
    positions.push((await after(position)).position)
  }
  const tagsAfter = async (/** @type {string} */ from) =>
    (await after(from)).tags?.sort()
  assert.deepEqual(await tagsAfter(positions[0]), ['a', 'b', 'c'])
  assert.deepEqual(await tagsAfter(positions[1]), ['b', 'c'])
  assert.deepEqual(await tagsAfter(positions[3]), [])
  ;({ position } = await after(positions[3]))
  assert.ok(position > positions[3])
})

test('processes that are not equally far are no reason to forget anything', async (t) => {
  const uri = wiki.freshUri()
  const [one, other] = [await startWatch(t, {}, uri), await startWatch(t, {}, uri)]
  await other.after(undefined)
  for (let turn = 0; turn < 50; turn++) {
    const certificate = await one.watch.certify(0)
    // The other one still has a certificate that is younger than this, and was begun before.
    const heard = await other.watch.after(certificate.position, { waitMs: 0, ageMaxMs: 10_000 })
    assert.deepEqual(heard.tags, [])
    assert.ok(heard.position >= certificate.position)
  }
})

test('a follower that is further behind than the log reaches forgets everything', async (t) => {
  const { append, after } = await startWatch(t, { tagsMax: 4 })
  const { position } = await after(undefined)
  await append('a')
  const second = await after(position)
  for (const tag of ['b', 'c']) await append(tag)
  assert.equal((await after(position)).tags, null, 'one of three is dropped')
  assert.equal((await after(second.position)).tags?.length, 2)
})

test('a certificate ages while the machine sleeps, though the clock of Node stands', async (t) => {
  let sleptMs = 0
  const clock = { ...realClock, uptime: () => realClock.uptime() + sleptMs }
  const { watch } = await startWatch(t, {}, wiki.freshUri(), clock)
  await watch.certify(0)
  assert.ok(watch.current(3_600_000))
  sleptMs = 3_600_000
  assert.equal(watch.current(3_600_000), undefined)
})

test('a log that is lost is followed anew, and its followers forget everything', async (t) => {
  const { entries, append, after } = await startWatch(t)
  await append('a')
  const { position } = await after(undefined)
  await entries.drop()
  await append('b')
  assert.ok(await waitUntil(async () => (await after(position).catch(() => null))?.tags === null, WAIT_MAX_MS))
})

test('a log that is followed anew is certain again without a long wait', async (t) => {
  const { entries, watch } = await startWatch(t, { waitMaxMs: 30_000, markMaxMs: 120_000 })
  for (let round = 0; round < 3; round++) {
    await watch.certify(0)
    await entries.drop()
    // Some of these begin while nothing is followed.
    for (let call = 0; call < 20; call++) await watch.certify(0)
  }
})

test('a transaction with very many tags makes everything stale, and so do many entries together', async (t) => {
  const { connection, append, after } = await startWatch(t)
  const { purges, before } = createPurgeLog(connection)
  /** @type {import('../src/queue/entries.js').Task[]} */
  const others = []
  const later = before(async (tasks) => { others.push(...tasks) })
  const commitOf = (/** @type {string} */ name, links = 0) => /** @type {import('../src/pages/commit.js').Commit} */ ({
    name,
    revision: 1,
    authors: [],
    tags: [],
    linking: Array.from({ length: links }, (_, index) => `${name} ${index}`),
    links: [],
    listed: false,
    above: []
  })
  const session = await connection.startSession()
  t.after(() => session.endSession())
  const { position } = await after(undefined)
  await later([...purges.ofCommits([commitOf('a', 2), commitOf('b')]), { kind: 'other', name: 'x' }], session)
  const few = await after(position)
  assert.equal(few.tags?.length, 4)
  assert.deepEqual(others, [{ kind: 'other', name: 'x' }], 'the rest is for the queue')
  await later(purges.ofCommits(Array.from({ length: 60 }, (_, index) => commitOf(`page ${index}`, 90))), session)
  const many = await after(few.position)
  assert.equal(many.tags, null)
  for (let index = 0; index < 3; index++) {
    await later(purges.ofCommits([commitOf(`p ${index}`, 90)]), session)
    await append(`tag ${index}`)
  }
  assert.equal((await after(many.position)).tags?.length, 3 * 92)
})

test('a position that this database never had means another database', async (t) => {
  const { after } = await startWatch(t)
  await after(undefined)
  const answer = await after('ffffffffffffffff')
  assert.equal(answer.tags, null)
})

test('what a certificate covers is complete: each edit acknowledged before it is at or before its position',
  async (t) => {
    const { append, after, watch } = await startWatch(t)
    let { position } = await after(undefined)
    for (let round = 0; round < 50; round++) {
      await Promise.all([append(`${round} a`), append(`${round} b`)])
      const certificate = await watch.certify(0)
      const heard = await after(position)
      assert.equal(heard.tags?.length, 2)
      const { tags } = await after(certificate.position)
      assert.deepEqual(tags, [], 'nothing acknowledged before it comes later')
      position = heard.position
    }
  })

test('a log that is closed gives no certificate', async (t) => {
  const { watch } = await startWatch(t)
  await watch.certify(0)
  await watch.close()
  assert.equal(watch.current(0), undefined)
  await assert.rejects(watch.certify(0), { statusCode: 503 })
})

test('while the database hangs, a page is refused instead of shown with a text that may be old', async (t) => {
  let pid = 0
  const mongod = await startMongod({ onStart: (process) => { pid = process.pid } })
  t.after(() => {
    process.kill(pid, 'SIGCONT')
    return mongod.stop()
  })
  const app = await wiki.build(t, { ...BOUNDED, CACHE_BOUND_MS: '200', MONGODB_URI: mongod.uri })
  await save(app, 'page', 'text')
  assert.equal((await get(app, '/wiki/page')).statusCode, 200)
  await pauseProcess(pid)
  const refused = await get(app, '/wiki/page')
  assert.equal(refused.statusCode, 503)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal((await get(app, '/purge-log?after=0000000000000001')).statusCode, 503)
  process.kill(pid, 'SIGCONT')
  assert.ok(await waitUntil(async () => (await get(app, '/wiki/page')).statusCode === 200, WAIT_MAX_MS))
})
