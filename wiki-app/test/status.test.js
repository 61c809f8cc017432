import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startMongod } from '@stevec/harness/mongod'
import { killGroup, pauseProcess, waitUntil } from '@stevec/harness/processes'
import { startRedisGroup } from '@stevec/harness/redis'
import { startReplicaSet } from '@stevec/harness/replica-set'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { reportOf } from '../src/status/report.js'
import { parseStack } from '../src/status/stack-file.js'
import { BROWSER, get, save } from './helper.js'

/** A response from memory takes a few turns of the event loop, on a busy machine, too; a wait of a second thousands. */
const TURNS_MAX = 100
const CHANGE_MAX_MS = 60_000

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 * @param {Record<string, string>} [settings]
 * @param {Parameters<typeof buildApp>[1]} [caches]
 */
async function build (t, uri, settings = {}, caches = {}) {
  const config = readConfig({ MONGODB_URI: uri, LOG_LEVEL: 'silent', WRITES_PER_MINUTE: '0', ...settings })
  const app = await buildApp(config, caches)
  t.after(() => app.close())
  return app
}

/** @template T @param {Promise<T>} promise @returns {Promise<{result: T, turns: number}>} of the event loop */
async function inTurns (promise) {
  const waiting = new Set([promise])
  promise.finally(() => waiting.clear()).catch(() => {})
  let turns = 0
  for (; waiting.size > 0; turns++) await nextTurn()
  return { result: await promise, turns }
}

/** The page is between two reports that agree: it shows the same. @param {import('fastify').FastifyInstance} app */
async function statusOf (app) {
  /** @type {Awaited<ReturnType<typeof get>>} */
  let json
  let page
  let again = await inTurns(get(app, '/status.json'))
  let turns = again.turns
  do {
    json = again.result
    page = await inTurns(get(app, '/status', BROWSER))
    again = await inTurns(get(app, '/status.json'))
    turns = Math.max(turns, page.turns, again.turns)
  } while (json.json().status !== again.result.json().status)
  return { ...shownBy(json, page.result), turns }
}

/** @param {Awaited<ReturnType<typeof get>>} json @param {Awaited<ReturnType<typeof get>>} page */
function shownBy (json, page) {
  for (const { statusCode, headers } of [json, page]) {
    assert.deepEqual([statusCode, headers['cache-control']], [200, 'no-store'])
  }
  const report = json.json()
  const serviceOf = (/** @type {string} */ name) =>
    report.services.find((/** @type {{name: string}} */ service) => service.name === name)
  return { report, page: page.body, serviceOf, text: json.body + page.body }
}

/** @param {import('node:test').TestContext} t */
function temporaryFolder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-status-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('the status names the new primary and the time of the failover, and answers at once without one', async (t) => {
  const set = await startReplicaSet()
  t.after(() => set.stop())
  const app = await build(t, set.uri)
  const roles = async () => {
    const { serviceOf } = await statusOf(app)
    return serviceOf('database').nodes.map((/** @type {{role: string}} */ { role }) => role)
  }
  assert.ok(await waitUntil(async () => (await roles()).sort().join() === 'primary,secondary,secondary', CHANGE_MAX_MS))
  const before = await statusOf(app)
  assert.equal(before.report.status, 'ok')
  assert.equal(before.serviceOf('database').last_failover_at, null)
  const former = before.serviceOf('database').nodes.find((/** @type {any} */ { role }) => role === 'primary').name

  const killedAt = Date.now()
  const killed = await set.primary()
  await killGroup(set.processes[killed])
  let without = 0
  let turnsMost = 0
  const after = await waitUntil(async () => {
    const status = await statusOf(app)
    turnsMost = Math.max(turnsMost, status.turns)
    const { nodes } = status.serviceOf('database')
    const primary = nodes.find((/** @type {any} */ { role }) => role === 'primary')
    if (primary === undefined) {
      without++
      assert.equal(status.report.status, 'down')
      assert.match(status.page, /<h1>The wiki cannot show its pages<\/h1>/)
    }
    return primary !== undefined && primary.name !== former && status.report.status === 'degraded' && status
  }, CHANGE_MAX_MS, 50)
  assert.ok(after, 'another node becomes primary')
  t.diagnostic(`the new primary is shown ${Date.now() - killedAt} ms after the kill; ` +
    `${without} answers without a primary, each within ${turnsMost} turns of the event loop`)

  const { last_failover_at: failedOverAt, nodes, status } = after.serviceOf('database')
  assert.ok(Date.parse(failedOverAt) >= killedAt && Date.parse(failedOverAt) <= Date.now(), failedOverAt)
  assert.equal(status, 'degraded', 'a node is still missing')
  assert.equal(nodes.find((/** @type {any} */ { name }) => name === former).role, 'unreachable')
  assert.ok(without > 0, 'an election takes some seconds')
  assert.ok(turnsMost <= TURNS_MAX, `${turnsMost} turns`)
  assert.ok(!after.text.includes('127.0.0.1'), 'no address is shown')

  await set.start(killed)
  assert.ok(await waitUntil(async () => (await statusOf(app)).report.status === 'ok', CHANGE_MAX_MS))
})

test('a paused database, which closes no connection, is shown as down before any request waits for it', async (t) => {
  /** @type {any} */
  let identity
  const mongod = await startMongod({ onStart: (started) => { identity = started } })
  t.after(async () => { process.kill(identity.pid, 'SIGCONT'); await mongod.stop() })
  const app = await build(t, mongod.uri)
  assert.equal((await statusOf(app)).report.status, 'ok')
  await pauseProcess(identity.pid)
  let turnsMost = 0
  const down = await waitUntil(async () => {
    const status = await statusOf(app)
    turnsMost = Math.max(turnsMost, status.turns)
    return status.report.status === 'down'
  }, CHANGE_MAX_MS)
  assert.ok(down && turnsMost <= TURNS_MAX, `${turnsMost} turns`)
  process.kill(identity.pid, 'SIGCONT')
  assert.ok(await waitUntil(async () => (await statusOf(app)).report.status === 'ok', CHANGE_MAX_MS))
})

test('the status shows Redis and its failover, purges, the stack and nothing else, and is not counted', async (t) => {
  const mongod = await startMongod()
  t.after(() => mongod.stop())
  const redis = await startRedisGroup({ password: 'secret-of-redis' })
  t.after(() => redis.stop())
  const file = path.join(temporaryFolder(t), 'stack.json')
  let refuses = false
  const purge = async () => { if (refuses) throw new Error('the caches are away at secret.example') }
  const app = await build(t, mongod.uri, {
    REDIS_URL: redis.url,
    STATUS_FILE: file,
    CACHE_POLICY: 'purge-tag',
    PURGE_ZONE: 'zone',
    PURGE_TOKEN: 'secret-token',
    PUBLIC_URL: 'http://wiki.localhost'
  }, { purge, timing: { retryMs: 20, retryMaxMs: 50, repeatAfterMs: 100 } })
  const counted = async () => (await get(app, '/api/v1/counter')).json().count.requests

  const missing = await statusOf(app)
  assert.deepEqual(missing.report.stack, { status: 'degraded', written_at: null, services: [] })
  assert.match(missing.page, /Its keeper says nothing/)
  const since = new Date().toISOString()
  const services = [
    { name: 'mongod', state: 'running', since, restarts: 0 },
    { name: 'nginx edge', state: 'given-up', since, restarts: 10, last_restart_at: since, pid: 4711, command: 'secret' }
  ]
  writeFileSync(`${file}.new`, JSON.stringify({ schema_version: 1, written_at: since, services }))
  renameSync(`${file}.new`, file)
  const shown = await waitUntil(async () => {
    const status = await statusOf(app)
    return status.report.stack.services.length > 0 && status
  }, CHANGE_MAX_MS)
  assert.ok(shown)
  assert.deepEqual(shown.report.stack.services.map((/** @type {any} */ { name, status }) => [name, status]),
    [['mongod', 'ok'], ['nginx edge', 'down']])
  assert.match(shown.page, /nginx edge: stopped, and not started again since .*, restarted 10 times/)
  assert.equal(shown.report.status, 'degraded')

  await save(app, 'page', 'text')
  const purged = await waitUntil(async () => {
    const { serviceOf } = await statusOf(app)
    return serviceOf('caches').last_purge_at && serviceOf('caches')
  }, CHANGE_MAX_MS)
  assert.deepEqual([purged.status, purged.last_purge_lag_s <= CHANGE_MAX_MS / 1000], ['ok', true])
  refuses = true
  await save(app, 'page', 'other text')
  assert.ok(await waitUntil(async () => (await statusOf(app)).serviceOf('caches').status === 'degraded', CHANGE_MAX_MS))
  const waiting = await waitUntil(async () => {
    const { page, serviceOf } = await statusOf(app)
    return serviceOf('caches').purges.waiting === 1 && page
  }, CHANGE_MAX_MS)
  assert.match(String(waiting), /Purges that wait: 1, the oldest for \d+ s/)
  refuses = false
  assert.ok(await waitUntil(async () => (await statusOf(app)).serviceOf('caches').status === 'ok', CHANGE_MAX_MS))

  assert.equal(shown.serviceOf('redis').status, 'ok')
  await redis.master.kill()
  const failedOver = await waitUntil(async () => {
    // A command notices that the master has gone.
    await get(app, '/edit/new')
    await save(app, 'page', `text ${Date.now()}`)
    const { serviceOf, text } = await statusOf(app)
    return serviceOf('redis').status === 'ok' && serviceOf('redis').last_failover_at && text
  }, CHANGE_MAX_MS, 200)
  assert.ok(failedOver, 'the replica takes the master’s place')
  assert.doesNotMatch(failedOver, /secret|4711|127\.0\.0\.1|mongodb:|redis:/)

  const before = await counted()
  await statusOf(app)
  assert.equal(await counted(), before)
})

test('a status file that is not as it should be shows nothing of itself', () => {
  const since = '2026-01-31T18:00:05.000Z'
  const service = { name: 'wiki', state: 'running', since, restarts: 0 }
  const file = { schema_version: 1, written_at: since, services: [service] }
  assert.deepEqual(parseStack(JSON.stringify(file))?.services, [{ ...service, last_restart_at: null }])
  const wrong = [
    '', '{', 'null', '[]', '"text"',
    ...[
      { ...file, schema_version: 2 },
      { ...file, written_at: 'yesterday' },
      { ...file, services: {} },
      { ...file, services: Array.from({ length: 101 }, () => service) },
      ...[
        null, 'wiki', { ...service, name: '<script>' }, { ...service, name: 'n'.repeat(61) }, { ...service, name: 1 },
        { ...service, state: 'toString' }, { ...service, since: '2026-99-99T99:99:99Z' }, { ...service, restarts: -1 },
        { ...service, restarts: '1' }, { ...service, last_restart_at: '<b>' }
      ].map((each) => ({ ...file, services: [service, each] }))
    ].map((each) => JSON.stringify(each))
  ]
  for (const text of wrong) assert.equal(parseStack(text), null, text)
})

test('a keeper that has been silent for half a minute, or a dead process of the wiki, is a degraded wiki', () => {
  const now = new Date('2026-01-31T18:00:31.000Z')
  const since = new Date('2026-01-31T17:00:00.000Z')
  const database = {
    available: true,
    since,
    failedOverAt: null,
    nodes: [{ number: 1, role: /** @type {const} */ ('primary'), since }]
  }
  const processes = [{ number: 1, since, restarts: 0 }]
  const stackAt = (/** @type {string} */ writtenAt) => ({ written_at: writtenAt, services: [] })
  assert.equal(reportOf({ processes, database, stack: stackAt('2026-01-31T18:00:02.000Z') }, now).status, 'ok')
  assert.equal(reportOf({ processes, database, stack: stackAt('2026-01-31T18:00:00.000Z') }, now).status, 'degraded')
  const dead = { number: 2, since: null, restarts: 1 }
  assert.equal(reportOf({ processes: [...processes, dead], database }, now).status, 'degraded')
})
