import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { DEFERRED_STRATEGIES } from '@stevec/wiki-app/strategy-names'
import { problemsOfSaves } from '../src/saves/judge-saves.js'
import { watchSaves } from '../src/saves/measure-saves.js'
import { readSaving, waitUntilSettled } from '../src/saves/waiting.js'
import { createSandbox, trialsOf } from './helper.js'

const REQUESTS = 60
/** Those that matter. */
const SETTINGS = /** @type {import('../src/lab/settings.js').Settings} */ (/** @type {unknown} */ (Object.freeze({
  resource: 'page', edit_ratio: 1, edit: 'post', background_vus: 0, fault: null, write_strategy: 'unsafe-bulk'
})))
const { signal } = new AbortController()

describe('trials of saves', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, any>[]} */
  let trials
  before(async () => {
    sandbox = await createSandbox()
    const levels = ['sync', ...DEFERRED_STRATEGIES].map((strategy) => [strategy, {
      write_strategy: strategy, shared: strategy === 'unsafe-write-behind' ? 'redis' : 'none'
    }])
    const file = sandbox.experiment({
      settings: {
        ...{ door: 'source', edit_ratio: 1, pages: 10, page_size_chars: 500, requests: REQUESTS, vus: 4 },
        ...{ policy: 'no-store', connection_reuse: true, duration_max_s: 60 }
      },
      factors: { case: Object.fromEntries(levels) },
      presets: { quick: { repetitions: 1 } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
    assert.equal(exitCode, 0, stdout + stderr)
    assert.doesNotMatch(stderr, /Warning/)
    trials = trialsOf(path.join(sandbox.results, readdirSync(sandbox.results)[0]))
  })
  after(() => {
    assert.deepEqual(sandbox.processes(), [])
    sandbox.remove()
  })

  for (const strategy of ['sync', ...DEFERRED_STRATEGIES]) {
    test(`with ${strategy} are valid, and count until everything is stored`, () => {
      const { valid, invalid_reasons: reasons, statuses, records, counter } =
        /** @type {Record<string, any>} */ (trials.find(({ cell }) => cell.case === strategy))
      assert.ok(valid, reasons.join())
      assert.deepEqual(statuses, { POST: { [strategy === 'sync' ? 200 : 202]: REQUESTS } })
      assert.equal(counter.writes, REQUESTS)
      const { acknowledged, stored, lost, failed, is_stored: isStored, waiting } = records
      assert.deepEqual([acknowledged, stored, lost, failed, isStored, waiting], [REQUESTS, REQUESTS, 0, 0, true, 0])
      const { extra_s: extraS, ops_per_s: opsPerS, database_cpu_s: databaseS, service_cpu_s: wikiS } = records
      assert.ok(opsPerS > 0 && databaseS > 0 && wikiS > 0)
      if (strategy === 'sync') assert.equal(extraS, 0)
      // The last batch begins after the last of its saves was answered.
      if (strategy === 'unsafe-group' || strategy === 'unsafe-bulk') assert.ok(extraS > 0)
      assert.equal(records.shared_cpu_s === null, strategy !== 'unsafe-write-behind')
    })
  }
})

test('an acknowledged save that the database lacks makes a trial invalid', async (t) => {
  const mongod = await startMongod()
  t.after(() => mongod.stop())
  const client = await MongoClient.connect(mongod.uri)
  t.after(() => client.close())
  const revisions = client.db().collection('revisions')
  const save = (/** @type {string[]} */ ...texts) => revisions.insertMany(texts.map((content) => ({ content })))
  await save('a page', 'mentions t1x3')
  const site = /** @type {any} */ ({
    databaseUri: () => mongod.uri,
    readSaving: async () => ({ waiting: 0, settledAtUs: 2_500_000 }),
    processes: () => [],
    facts: { origin: { kind: 'local' } }
  })
  const saves = await watchSaves(/** @type {any} */ ({ site, signal }), SETTINGS, 't1')
  assert.ok(saves)
  for (let iteration = 0; iteration < 10; iteration++) {
    saves.onSample(/** @type {any} */ ({ status: iteration === 9 ? 503 : 202, iteration }))
  }
  // Of another trial, and in the middle of a text: neither replaces a lost one.
  await save(...[0, 1, 2, 4, 5, 7].map((index) => `t1x${index} text`), 't1x6\n\n[page](/wiki/page)', 't1x8.', 't10x3 text',
    'text t1x3 text')
  await client.db().collection('failed_saves').insertOne({ page: 'page' })
  const samples = /** @type {any} */ ({
    statuses: { POST: { 202: 9, 503: 1 } }, first_sent_at_us: 1_000_000, last_done_at_us: 2_000_000
  })
  const found = await saves.compare(await saves.settle(), samples)
  assert.deepEqual([found.acknowledged, found.stored, found.lost, found.refused, found.failed], [9, 8, 1, 1, 1])
  assert.deepEqual([found.extra_s, found.ops_per_s], [0.5, 8 / 1.5])
  assert.deepEqual([found.database_cpu_s, found.service_cpu_s, found.shared_cpu_s], [null, null, null])
  assert.deepEqual(problemsOfSaves(SETTINGS, samples, found),
    ['1 save was acknowledged and not stored, of which 1 failed at the database'])

  const sync = { ...SETTINGS, write_strategy: /** @type {const} */ ('sync') }
  assert.deepEqual(problemsOfSaves(sync, samples, { ...found, lost: 0 }),
    ['9 saves answered 202, which write_strategy=sync does not'])
  const some = await watchSaves(/** @type {any} */ ({ site, signal }), { ...sync, edit_ratio: 0.5 }, 't2')
  assert.equal(some, null, 'what is read is judged otherwise')
})

test('saves that are never stored end the wait, and are named', async () => {
  const saving = await waitUntilSettled(async () => ({ waiting: 3, settledAtUs: null }), signal, 0)
  assert.equal(saving.waiting, 3)
  const found = /** @type {any} */ ({ lost: 0, failed: 0, is_stored: false, waiting: 3 })
  assert.deepEqual(problemsOfSaves(SETTINGS, /** @type {any} */ ({ statuses: {} }), found),
    ['3 saves still waited for the database after two minutes'])
})

test('saves that are answered first need a wiki that the lab can watch', async () => {
  const watch = (/** @type {any} */ site) => watchSaves(/** @type {any} */ ({ site, signal }), SETTINGS, 't1')
  await assert.rejects(watch({ facts: {} }), /write_strategy=unsafe-bulk needs a wiki of the lab's own: leave the zone/)
  const remote = { databaseUri: () => '', readSaving: async () => {}, facts: { origin: { kind: 'ssh' } } }
  await assert.rejects(watch(remote), /write_strategy=unsafe-bulk needs a wiki with the clock of this .*: leave --origin/)
})

test('what wikis have left to store is their sum, and the time that of the last', async (t) => {
  /** @param {number} processes @param {object} [saving] */
  async function listen (processes, saving) {
    const services = [{ name: 'wiki', processes: Array(processes).fill({}) }, ...saving ? [{ name: 'saving', ...saving }] : []]
    const server = http.createServer((_, response) => response.end(JSON.stringify({ services })))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    t.after(() => { server.close(); server.closeAllConnections() })
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  }
  const one = await listen(1, { waiting: { records: 2 }, last_settled_at: '1970-01-01T00:00:01.500Z' })
  const other = await listen(1, { waiting: { records: 3 }, last_settled_at: null })
  assert.deepEqual(await readSaving([one, other]), { waiting: 5, settledAtUs: 1_500_000 })
  assert.deepEqual(await readSaving([await listen(1)]), { waiting: 0, settledAtUs: null })
  await assert.rejects(readSaving([await listen(2)]), /knows its own saves only: unset WORKERS/)
})
