import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { waitUntil } from '@stevec/harness/processes'
import { FRAMEWORKS } from '../records/frameworks/names.js'
import { createOutcomes } from '../records/outcomes.js'
import { STRATEGIES } from '../records/strategies/names.js'
import { record, startRecordService } from './record-service.js'

const CLIENTS = 20
const SETTLED_WITHIN_MS = 30_000

describe('the record service', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-records-'))
  /** @type {Awaited<ReturnType<typeof startMongod>>} */
  let mongod
  /** @type {MongoClient} */
  let client
  before(async () => {
    mongod = await startMongod()
    client = await MongoClient.connect(mongod.uri)
  })
  after(async () => {
    await client?.close()
    await mongod?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  /** @param {string} collection @returns {Promise<string[]>} */
  const keysIn = async (collection) =>
    (await client.db().collection(collection).find({}, { projection: { _id: 1 } }).toArray())
      .map(({ _id: key }) => String(key)).sort()

  /** @param {import('node:test').TestContext} t @param {{name: string} & Record<string, string | number>} settings */
  const start = (t, settings) => startRecordService(t, { directory, uri: mongod.uri, ...settings })

  for (const framework of FRAMEWORKS) {
    test(`SIGTERM in the middle of the load loses nothing that ${framework} acknowledged`, async (t) => {
      await Promise.all(STRATEGIES.map(async (strategy) => {
        const name = `term-${framework}-${strategy}`
        // Nothing collected would be stored by itself before the signal.
        const service = await start(t, {
          name,
          ...{ FRAMEWORK: framework, STRATEGY: strategy },
          GATHER_MS: strategy === 'group-commit' ? 0 : 60_000
        })
        /** @type {string[]} */
        const acknowledged = []
        const statuses = new Set()
        let isOver = false
        let next = 0
        const clients = Array.from({ length: CLIENTS }, async () => {
          while (!isOver) {
            const key = `k-${next++}`
            const status = await service.post(record(key)).then((response) => response.status, () => 0)
            statuses.add(status)
            if (status === 201 || status === 202) acknowledged.push(key)
            if (status === 0 || status === 503) isOver = true
          }
        })
        assert.ok(await waitUntil(() => acknowledged.length >= 100, SETTLED_WITHIN_MS), name)
        service.kill('SIGTERM')
        assert.equal(await service.exited, 0, service.log())
        await Promise.all(clients)
        const stored = new Set(await keysIn(name))
        assert.deepEqual(acknowledged.filter((key) => !stored.has(key)), [], name)
        const answersAfter = strategy === 'sync' || strategy === 'group-commit'
        assert.ok(statuses.has(answersAfter ? 201 : 202) && !statuses.has(answersAfter ? 202 : 201), name)
      }))
    })

    test(`${framework} refuses what is no record, and lives on`, async (t) => {
      const name = `hostile-${framework}`
      const service = await start(t, { name, FRAMEWORK: framework, STRATEGY: 'sync' })
      const fine = JSON.stringify(record('k'))
      const bomb = Uint8Array.from(gzipSync(JSON.stringify({ ...record('k'), text: 'x'.repeat(10_000_000) })))
      /** @typedef {[string, string | Uint8Array<ArrayBuffer>, number[], Record<string, string>?]} Case */
      for (const [what, body, statuses, headers] of /** @type {Case[]} */ ([
        ['a huge body', JSON.stringify({ ...record('k'), text: 'x'.repeat(1_000_000) }), [413]],
        ['a long text', JSON.stringify({ ...record('k'), text: 'x'.repeat(10_001) }), [400]],
        ['half a JSON', fine.slice(0, -2), [400]],
        ['no body', '', [400]],
        ['a list', `[${fine}]`, [400]],
        ['null', 'null', [400]],
        ['an operator', '{"key":{"$gt":""},"number":7,"text":""}', [400]],
        ['a key of the prototype', '{"__proto__":{"key":"k"},"key":"k","number":7,"text":""}', [400]],
        ['a constructor', '{"constructor":{"prototype":{"a":1}},"key":"k","number":7,"text":""}', [400]],
        ['an unknown field', '{"_id":"other","key":"k","number":7,"text":""}', [400]],
        ['a number that is none', '{"key":"k","number":"7","text":""}', [400]],
        ['a hostile key', '{"key":"../k","number":7,"text":""}', [400]],
        ['another type', fine, [400, 415], { 'content-type': 'text/plain' }],
        ['a form', 'key=k&number=7&text=', [400, 415], { 'content-type': 'application/x-www-form-urlencoded' }],
        ['a body that inflates', bomb, [400, 413, 415], { 'content-encoding': 'gzip' }]
      ])) {
        const response = await service.post(body, headers)
        assert.ok(statuses.includes(response.status), `${what}: ${response.status} ${await response.text()}`)
      }
      assert.equal(/** @type {any} */ ({}).a, undefined)
      for (const address of ['/status/x', '/status/000000000000-1', '/nowhere', '/status/%00', '/status/..%2fstats']) {
        assert.equal((await service.get(address)).status, 404, address)
      }
      assert.equal((await service.post(record('k'))).status, 201)
      assert.deepEqual(await keysIn(name), ['k'])
    })
  }

  for (const strategy of STRATEGIES) {
    test(`one bad record in a batch fails alone, and its sender can know: ${strategy}`, async (t) => {
      const name = `bad-${strategy}`
      const service = await start(t, { name, STRATEGY: strategy, GATHER_MS: strategy === 'sync' ? 0 : 100 })
      await client.db().collection(name).insertOne(/** @type {any} */ ({ _id: 'taken' }))
      const keys = ['a', 'b', 'taken', 'c', 'd']
      const responses = await Promise.all(keys.map((key) => service.post(record(key))))
      if (strategy === 'sync' || strategy === 'group-commit') {
        assert.deepEqual(responses.map(({ status }) => status), [201, 201, 409, 201, 201])
      } else {
        const addresses = responses.map(({ status, headers }) => {
          assert.equal(status, 202)
          return String(headers.get('location'))
        })
        const outcomes = async () => Promise.all(addresses.map(async (address) => (await service.get(address)).body))
        await waitUntil(async () => (await outcomes()).every(({ state }) => state !== 'pending'), SETTLED_WITHIN_MS)
        const stored = { state: 'stored' }
        const failed = { state: 'failed', reason: 'another record has this key' }
        assert.deepEqual(await outcomes(), [stored, stored, failed, stored, stored])
      }
      assert.deepEqual(await keysIn(name), ['a', 'b', 'c', 'd', 'taken'])
    })
  }

  test('a full backlog answers 503 with Retry-After, in records and in bytes, and takes records again', async (t) => {
    for (const [what, bounds] of /** @type {[string, Record<string, number>][]} */ ([
      ['records', { BACKLOG_MAX: 3 }], ['bytes', { BACKLOG_MAX_BYTES: 3 * 5_060 }]
    ])) {
      const name = `full-${what}`
      const service = await start(t, { name, STRATEGY: 'bulk', GATHER_MS: 60_000, ...bounds })
      const send = (/** @type {string} */ key) => service.post({ ...record(key), text: 'x'.repeat(5_000) })
      const statuses = []
      for (const key of ['a', 'b', 'c', 'd']) {
        const response = await send(key)
        statuses.push(response.status)
        assert.equal(response.headers.get('retry-after'), response.status === 503 ? '1' : null)
      }
      assert.deepEqual(statuses, [202, 202, 202, 503], what)
      assert.deepEqual((await service.get('/stats')).body.backlog.records, 3)
      service.kill('SIGINT')
      assert.equal(await service.exited, 0)
      assert.deepEqual(await keysIn(name), ['a', 'b', 'c'])
    }
  })

  test('records are stored by themselves once there are enough, or once the time is over', async (t) => {
    const [byNumber, byTime] = await Promise.all([
      start(t, { name: 'by-number', STRATEGY: 'bulk', GATHER_MAX: 3, GATHER_MS: 600_000 }),
      start(t, { name: 'by-time', STRATEGY: 'bulk', GATHER_MAX: 1000, GATHER_MS: 50 })
    ])
    for (const key of ['a', 'b', 'c', 'd']) await byNumber.post(record(key))
    for (const key of ['a', 'b']) await byTime.post(record(key))
    const has = (/** @type {string} */ name, /** @type {number} */ count) =>
      waitUntil(async () => (await keysIn(name)).length === count, SETTLED_WITHIN_MS)
    assert.ok(await has('by-number', 3))
    assert.ok(await has('by-time', 2))
    assert.equal((await byNumber.get('/stats')).body.backlog.records, 1)
  })
})

test('what became of a record is remembered in bounded memory, and never made up', () => {
  const outcomes = createOutcomes({ failuresMax: 2 })
  const numbers = Array.from({ length: 5 }, () => outcomes.begin())
  const states = () => numbers.map((number) => outcomes.of(outcomes.addressOf(number).slice('/status/'.length))?.state)
  assert.deepEqual(states(), Array(5).fill('pending'))
  outcomes.end(1, null)
  outcomes.end(2, 'broken')
  assert.deepEqual(states(), ['stored', 'failed', 'pending', 'pending', 'pending'])
  for (const number of [3, 4]) outcomes.end(number, 'broken')
  // The first failure was dropped: whether an older record was stored can no longer be said.
  assert.deepEqual(states(), ['forgotten', 'forgotten', 'failed', 'failed', 'pending'])
  assert.equal(outcomes.of(createOutcomes().addressOf(1).slice('/status/'.length)), null)
})
