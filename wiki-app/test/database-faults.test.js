import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { pauseProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { createDatabase } from '../src/database/database.js'
import { get, save } from './helper.js'

const RECOVERY_MAX_MS = 20_000
/** The promise is 1 s; the rest is for slow machines. The test prints the measured time. */
const REFUSAL_MAX_MS = 4_000

/** @typedef {import('node:test').TestContext} TestContext */

/** @type {Awaited<ReturnType<typeof startMongod>>} */
let mongod
let mongodPid = 0
/** @type {import('@stevec/harness/processes').ProcessIdentity} */
let toxiproxy
/** @type {string} */
let api
/** @type {string} */
let uri
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-faults-'))
before(async () => {
  mongod = await startMongod({ onStart: ({ pid }) => { mongodPid = pid } })
  const [listen, port] = await freePorts(2)
  api = await startToxiproxy({
    links: [{ name: 'database', listen, upstream: `127.0.0.1:${mongod.port}` }],
    port,
    logFile: path.join(directory, 'log'),
    outlive: false,
    onStart: (identity) => { toxiproxy = identity }
  })
  // Otherwise the driver asks the replica set for its members and connects to them directly, past the link.
  uri = `mongodb://127.0.0.1:${listen}/wiki?directConnection=true`
})
after(async () => {
  if (toxiproxy) await stopProcess(toxiproxy)
  await mongod?.stop()
  rmSync(directory, { recursive: true })
})

/** @param {string} type @param {object} attributes https://github.com/Shopify/toxiproxy#toxics */
const afflict = (type, attributes) => replaceToxics(api, {
  database: /** @type {any} */ (['upstream', 'downstream']
    .map((stream) => ({ name: `${type} ${stream}`, type, stream, attributes })))
})
const heal = () => replaceToxics(api, {})

/** @param {TestContext} t */
async function build (t) {
  await heal()
  const app = await buildApp(readConfig({ MONGODB_URI: uri, LOG_LEVEL: 'silent', WRITES_PER_MINUTE: '0' }))
  t.after(async () => {
    await heal()
    await app.close()
  })
  assert.ok([200, 201].includes((await save(app, 'there', 'text')).statusCode))
  return app
}

const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length

test('while database connections are silent, reads and writes get 503; the wiki recovers by itself', async (t) => {
  const app = await build(t)
  const socketsBefore = sockets()
  // Saves in flight when the link falls silent: after that no response of the database arrives.
  const answers = Promise.all([...Array(20).keys()].map((index) => save(app, `under way ${index}`, 'x')))
  await afflict('timeout', { timeout: 0 })
  const cut = performance.now()
  for (const { statusCode } of await answers) assert.ok([201, 503].includes(statusCode))
  t.diagnostic(`saves in flight get responses ${Math.round(performance.now() - cut)} ms after the link fell silent`)
  assert.ok(performance.now() - cut < REFUSAL_MAX_MS)

  const start = performance.now()
  const refusals = await Promise.all([
    get(app, '/wiki/there'),
    get(app, '/'),
    get(app, '/search?q=x'),
    save(app, 'there', 'y'),
    app.inject({ method: 'DELETE', url: '/wiki/there' }),
    get(app, '/readyz')
  ])
  const refusalMs = performance.now() - start
  t.diagnostic(`later requests are refused within ${Math.round(refusalMs)} ms`)
  assert.ok(refusalMs < REFUSAL_MAX_MS)
  for (const answer of refusals) {
    assert.equal(answer.statusCode, 503, answer.body)
    assert.equal(answer.headers['retry-after'], '2')
  }
  for (const url of ['/healthz', '/wiki/stevec']) {
    assert.equal((await get(app, url)).statusCode, 200, 'this URL needs no database')
  }

  await heal()
  const healed = performance.now()
  assert.ok(await waitUntil(async () => (await get(app, '/wiki/there')).statusCode === 200, RECOVERY_MAX_MS))
  assert.ok(await waitUntil(async () => (await save(app, 'another', 'text')).statusCode < 300, RECOVERY_MAX_MS))
  t.diagnostic(`works again ${Math.round(performance.now() - healed)} ms after the link is back`)
  assert.ok(
    await waitUntil(async () => (await save(app, 'there', 'text')).statusCode < 300, RECOVERY_MAX_MS),
    'a page whose write failed can be saved again'
  )
  assert.ok(
    await waitUntil(() => sockets() <= socketsBefore + 20, RECOVERY_MAX_MS),
    'broken connections are closed'
  )
})

test('an edit refused while the database is silent is not made after it recovers', async (t) => {
  const directUri = mongod.uriFor('refused')
  const app = await buildApp(readConfig({ MONGODB_URI: directUri, LOG_LEVEL: 'silent' }))
  t.after(() => app.close())
  assert.equal((await save(app, 'a', 'before')).statusCode, 201)
  await pauseProcess(mongodPid)
  t.after(() => process.kill(mongodPid, 'SIGCONT'))
  assert.equal((await save(app, 'a', 'refused')).statusCode, 503)
  process.kill(mongodPid, 'SIGCONT')
  assert.ok(await waitUntil(async () => (await save(app, 'a', 'after')).statusCode < 300, RECOVERY_MAX_MS))
  const { headers, body } = await get(app, '/wiki/a')
  assert.match(body, /after/)
  assert.equal(headers['page-revision'], '2')
})

test('edits in the queue when the database falls silent get 503 and are never made', async (t) => {
  const settings = { MONGODB_URI: mongod.uriFor('waiting'), LOG_LEVEL: 'silent', WRITES_PER_MINUTE: '0' }
  const app = await buildApp(readConfig({ ...settings, QUEUE_WAIT_MAX_MS: '60000' }))
  t.after(() => app.close())
  assert.equal((await save(app, 'there', 'text')).statusCode, 201)
  await pauseProcess(mongodPid)
  t.after(() => process.kill(mongodPid, 'SIGCONT'))
  const names = Array.from({ length: 200 }, (_, index) => `refused ${index}`)
  const answers = await Promise.all(names.map((name) => save(app, name, 'x')))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [503])
  process.kill(mongodPid, 'SIGCONT')
  assert.ok(await waitUntil(async () => (await save(app, 'there', 'after')).statusCode < 300, RECOVERY_MAX_MS))
  // These queue behind any of the refused edits that would still be waiting.
  const later = await Promise.all(names.map((_, index) => save(app, `later ${index}`, 'x')))
  assert.deepEqual([...new Set(later.map(({ statusCode }) => statusCode))], [201])
  const pages = await Promise.all(names.map((name) => get(app, `/wiki/${encodeURIComponent(name)}`)))
  assert.deepEqual([...new Set(pages.map(({ statusCode }) => statusCode))], [404])
})

test('a slow database does not count as unavailable', async (t) => {
  const app = await build(t)
  await afflict('latency', { latency: 60 })
  const [read, written] = await Promise.all([get(app, '/wiki/there'), save(app, 'slowly', 'text')])
  assert.equal(read.statusCode, 200)
  assert.equal(written.statusCode, 201)
  await afflict('bandwidth', { rate: 100 })
  assert.equal((await save(app, 'bit by bit', 'x'.repeat(20_000))).statusCode, 201)
})

test('under repeated resets, saves succeed or get 503; acknowledged ones persist, none is stored twice', async (t) => {
  const app = await build(t)
  const answers = []
  for (let round = 0; round < 4; round++) {
    const under = [...Array(10).keys()].map((index) => save(app, `reset ${index}`, `round ${round}`))
    await afflict('reset_peer', { timeout: 5 * round })
    answers.push(...await Promise.all(under))
    await heal()
    assert.ok(await waitUntil(async () => (await get(app, '/wiki/there')).statusCode === 200, RECOVERY_MAX_MS))
  }
  assert.deepEqual(
    answers.map(({ statusCode, body }) => [200, 201, 503].includes(statusCode) ? '' : body).filter(Boolean),
    []
  )
  for (let index = 0; index < 10; index++) {
    const history = (await get(app, `/api/v1/pages/reset%20${index}/revisions`)).json()
    const acknowledged = answers
      .filter((answer) => answer.statusCode < 300 && answer.json().name === `reset ${index}`)
      .map((answer) => answer.json().revision)
    const kept = (history.items ?? []).map((/** @type {{revision: number}} */ { revision }) => revision)
    assert.ok(acknowledged.every((revision) => kept.includes(revision)))
    assert.ok(kept.length <= 4, 'at most one revision per save')
  }
})

test('a full disk and a panic of the database count as its absence, other errors that it reports do not', async () => {
  const database = createDatabase(uri, /** @type {any} */ (console))
  const isUnavailable = (/** @type {number} */ code, /** @type {string} */ message) =>
    database.isUnavailable(new mongoose.mongo.MongoServerError({ code, message }))
  assert.ok(isUnavailable(14_031, 'out of disk space'))
  assert.ok(isUnavailable(8, '28: No space left on device'))
  assert.ok(isUnavailable(8, 'Executor error during find command :: caused by :: -31804: WT_PANIC: library panic'))
  assert.equal(isUnavailable(8, '22: Invalid argument'), false)
  assert.equal(isUnavailable(121, 'No space left on device'), false, 'an error of a document may quote anything')
})
