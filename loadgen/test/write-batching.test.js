import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { recordKey } from '../scenarios/records.js'
import { problemsOfRecords } from '../src/records/judge-records.js'
import { compareStored, openCollection } from '../src/records/stored.js'
import { createSandbox, samplesOf, trialsOf } from './helper.js'

const BATCH = 50

describe('trials of records', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, any>[]} */
  let trials
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    const stop = (/** @type {string} */ signal) => ({
      framework: 'fastify',
      // By number only: the last batch waits until the process ends.
      ...{ write_strategy: 'bulk', gather_max: BATCH, gather_ms: 60_000, bound: 'either', requests: 5000 },
      record_stop: { signal, after_requests: 310 }
    })
    const file = sandbox.experiment({
      settings: {
        ...{ resource: 'record', edit_ratio: 1, page_size_chars: 100, requests: 300, vus: 10 },
        ...{ connection_reuse: true, duration_max_s: 60 }
      },
      factors: {
        case: {
          'empty-get': { framework: 'express', edit_ratio: 0, write_strategy: 'none' },
          'empty-post': { framework: 'koa', write_strategy: 'none' },
          sync: { framework: 'koa' },
          group: { framework: 'express', write_strategy: 'group' },
          raw: { framework: 'none', write_strategy: 'bulk', requests: 2500 },
          killed: stop('SIGKILL'),
          stopped: stop('SIGTERM')
        }
      },
      presets: { quick: { repetitions: 1 } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
    assert.equal(exitCode, 0, stdout + stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => {
    assert.deepEqual(sandbox.processes(), [])
    sandbox.remove()
  })

  const of = (/** @type {string} */ level) =>
    /** @type {Record<string, any>} */ (trials.find(({ cell }) => cell.case === level))
  const samples = (/** @type {string} */ level) => samplesOf(path.join(directory, 'trials', of(level).name))

  test('count what the service, the client and the database each have seen', () => {
    for (const [level, statuses] of /** @type {[string, object][]} */ ([
      ['empty-get', { GET: { 200: 300 } }], ['empty-post', { POST: { 200: 300 } }], ['sync', { POST: { 201: 300 } }],
      ['group', { POST: { 202: 300 } }], ['raw', { INSERT: { 201: 2500 } }]
    ])) {
      const { counter, requests_sent: sent, records, statuses: found } = of(level)
      assert.deepEqual(found, statuses, level)
      assert.equal(counter.requests, sent, level)
      const written = level.startsWith('empty') ? 0 : sent
      assert.deepEqual([records.acknowledged, records.stored, records.lost], [written, written, 0], level)
    }
    assert.equal(new Set(samples('sync').map(({ page }) => page)).size, 300)
  })

  test('say how long after the last answer everything was stored, and what the database took for it', () => {
    assert.equal(of('sync').records.extra_s, 0)
    // The last group is complete a second after its first record.
    assert.ok(of('group').records.extra_s > 0.1)
    for (const level of ['sync', 'group', 'raw']) {
      const { ops_per_s: opsPerS, database_cpu_s: databaseS, service_cpu_s: serviceS } = of(level).records
      assert.ok(opsPerS > 0 && databaseS > 0 && serviceS > 0, level)
    }
  })

  test('lose nothing at SIGTERM, and at SIGKILL exactly what no complete batch had', () => {
    const [{ records: stopped }, { records: killed }] = [of('stopped'), of('killed')]
    assert.deepEqual([stopped.lost, stopped.stop.signal, stopped.stop.exit_code], [0, 'SIGTERM', 0])
    assert.ok(stopped.acknowledged >= 310 && stopped.stored >= stopped.acknowledged)
    assert.deepEqual([killed.stop.signal, killed.stop.exit_code], ['SIGKILL', null])
    assert.equal(killed.stored % BATCH, 0)
    assert.equal(killed.acknowledged - killed.lost, killed.stored - killed.stored_unacknowledged)
    assert.ok(killed.lost > 0 || killed.acknowledged % BATCH === 0)
    for (const level of ['stopped', 'killed']) assert.ok(of(level).requests_sent < 5000, level)
  })
})

test('a known loss is counted by the keys, whatever else is in the collection', async (t) => {
  const mongod = await startMongod()
  t.after(() => mongod.stop())
  const client = await MongoClient.connect(mongod.uri)
  t.after(() => client.close())
  const records = /** @type {import('mongodb').Collection<{_id: string}>} */ (client.db().collection('records-t1'))
  const keys = (/** @type {string} */ mark, /** @type {number[]} */ indexes) =>
    indexes.map((index) => ({ _id: recordKey(mark, index) }))
  const all = Array.from({ length: 1000 }, (_, index) => index)
  // Of other trials, and of the warm-up: none of them replaces a lost one.
  await records.insertMany([
    ...keys('t1', all.filter((index) => index % 100 !== 7)), ...keys('t10', all), ...keys('warm', all)
  ])
  const collection = await openCollection(mongod.uri, 'records-t1')
  const stored = await collection.stored('t1')
  assert.deepEqual(compareStored(all, stored), { acknowledged: 1000, stored: 990, lost: 10, stored_unacknowledged: 0 })
  assert.deepEqual(
    compareStored(all.slice(0, 500), stored), { acknowledged: 500, stored: 990, lost: 5, stored_unacknowledged: 495 })
  await collection.close()
  assert.equal(await records.countDocuments(), 0)
})

test('a loss makes a trial invalid unless the service was killed, and so does an answer of another kind', () => {
  const kept = {
    ...{ acknowledged: 5, stored: 5, lost: 0, stored_unacknowledged: 0, is_stored: true, refused: 0, failed: 0 },
    ...{ database_cpu_s: 1, service_cpu_s: 1, stop: null, extra_s: 0, ops_per_s: 1, database_cpu_share: 1 }
  }
  /** @param {object} settings @param {object} found @param {object} [statuses] */
  const problems = (settings, found, statuses = { POST: { 201: 5 } }) =>
    problemsOfRecords(/** @type {any} */ ({ record_stop: null, ...settings }), /** @type {any} */ ({ statuses }),
      /** @type {any} */ ({ ...kept, ...found })).join('; ')
  const stopBy = (/** @type {string} */ signal) => ({ record_stop: { signal, after_requests: 1 } })
  assert.equal(problems({}, {}), '')
  assert.match(problems({}, { lost: 1, failed: 1 }), /^1 record was acknowledged and not stored, of which 1 failed/)
  assert.equal(problems(stopBy('SIGKILL'), { lost: 2, stop: { signal: 'SIGKILL', exit_code: null } }), '')
  assert.match(problems(stopBy('SIGTERM'), { lost: 2, failed: null, stop: { exit_code: 0 } }), /2 records were acknowl/)
  assert.match(problems(stopBy('SIGTERM'), { stop: { exit_code: null } }), /ended with a signal after SIGTERM/)
  assert.match(problems({}, { is_stored: false }), /still waited for the database/)
  assert.equal(problems({}, {}, { POST: { 201: 4, 404: 1 } }), 'POST was answered 404 × 1')
})
