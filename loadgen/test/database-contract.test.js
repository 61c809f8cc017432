import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { MongoClient, Timestamp } from 'mongodb'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { createRandom } from '@stevec/harness/random'
import { startReplicaSet } from '@stevec/harness/replica-set'
import { loadDatabase } from '../src/simulate/modules.js'
import { MUTANTS } from '../src/simulate/mutants.js'
import { createTime } from '../src/simulate/time.js'
import { CONTRACT, idOf } from './database-contract.js'

/** @import {Database, Process} from './database-contract.js' */

const SEEDS = 30
const WAIT_MAX_MS = 60_000
/** Longer than any test. */
const NEVER_MS = 1e9

/** @param {any} change */
const entryOf = ({ clusterTime, fullDocument: { _id, mark } }) =>
  ({ position: clusterTime.toUnsigned(), id: _id, ...mark !== undefined && { mark } })

/** @param {string} page @param {number} revision */
const documentOf = (page, revision) => ({ _id: idOf(page, revision), stale: { everything: false, tags: [page] } })

/**
 * Runs a test in virtual time.
 * @param {number} seed @param {(database: Database) => Promise<void>} run
 * @param {import('../src/simulate/mutants.js').Mutation[]} [mutations]
 */
async function simulated (seed, run, mutations = []) {
  const random = createRandom(seed)
  const time = createTime()
  const database = (await loadDatabase(mutations))({ time, random })
  /** @type {ReturnType<typeof database.connect>[]} */
  const connections = []
  let processes = 0

  /** @returns {Promise<Process>} */
  async function connect () {
    const connection = database.connect()
    const own = `mark ${++processes}`
    connections.push(connection)
    return {
      save: (page) => connection.save(page, (revision) => documentOf(page, revision)),
      read: (page, after = 0n) => connection.read(page, Number(after)),
      mark: (number) => connection.replaceOne({ _id: own }, { mark: number }),
      async watch () {
        const stream = connection.watch()
        return {
          async next () {
            const change = await stream.tryNext()
            return change === null ? null : entryOf(change)
          }
        }
      }
    }
  }

  let isOver = false
  const crash = async (/** @type {number[]} */ numbers) => {
    database.crash(numbers, 1_000)
    await time.sleep(2_000)
  }
  const running = run({
    connect,
    async part () {
      database.cutOffPrimary(NEVER_MS)
      return () => { for (const { findPrimary } of connections) findPrimary() }
    },
    killPrimary: () => crash([Number(database.primary())]),
    killAll: () => crash([0, 1, 2])
  }).finally(() => { isOver = true })
  // Not yet handled while time runs.
  running.catch(() => {})
  await time.run(() => isOver, () => new Promise((resolve) => { setImmediate(resolve) }))
  await running
}

describe('the simulated database', () => {
  for (const [name, run] of Object.entries(CONTRACT)) {
    test(name, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) await simulated(seed, run)
    })
  }

  for (const mutation of MUTANTS.filter(({ where }) => where === 'database')) {
    test(`a planted fault breaks it: ${mutation.name}`, async () => {
      const isKept = async (/** @type {number} */ seed) => (await Promise.all(Object.values(CONTRACT)
        .map((run) => simulated(seed, run, [mutation]).then(() => true, () => false)))).every(Boolean)
      let seed = 1
      while (seed <= SEEDS && await isKept(seed)) seed++
      assert.ok(seed <= SEEDS)
    })
  }
})

describe('a replica set of three mongods', () => {
  /** @type {Awaited<ReturnType<typeof startReplicaSet>>} */
  let set
  before(async () => { set = await startReplicaSet() })
  after(() => set.stop())

  /** @param {MongoClient} client @returns {Process} */
  function processOf (client) {
    const own = `mark ${randomUUID()}`
    const [pages, log] = ['pages', 'purge_log'].map((name) => client.db().collection(name))
    const isOthersMark = { 'fullDocument.mark': { $exists: true }, 'documentKey._id': { $ne: own } }
    return {
      save: (page) => client.withSession((session) => session.withTransaction(async () => {
        const stored = await pages.findOneAndUpdate(
          { _id: /** @type {any} */ (page) }, { $inc: { revision: 1 } }, { upsert: true, returnDocument: 'after', session }
        )
        await log.insertOne(/** @type {any} */ (documentOf(page, stored?.revision)), { session })
        return stored?.revision
      })),
      async read (page, after = 0n) {
        const session = client.startSession({ causalConsistency: true })
        if (after > 0n) session.advanceOperationTime(new Timestamp(after))
        const found = await pages.findOne({ _id: /** @type {any} */ (page) }, { session })
        await session.endSession()
        return found?.revision ?? 0
      },
      async mark (number) {
        await log.replaceOne({ _id: /** @type {any} */ (own) }, { mark: number }, { upsert: true })
      },
      async watch () {
        const stream = log.watch([{ $match: { operationType: { $in: ['insert', 'replace'] }, $nor: [isOthersMark] } }],
          { maxAwaitTimeMS: 1_000, readPreference: 'primary' })
        // It begins with its first command.
        await stream.tryNext()
        return {
          async next () {
            const change = await stream.tryNext()
            return change === null ? null : entryOf(change)
          }
        }
      }
    }
  }

  /** @param {import('node:test').TestContext} t @returns {Promise<Database>} */
  async function open (t) {
    await waitUntil(set.isWhole, WAIT_MAX_MS)
    const name = `contract_${randomUUID().slice(0, 8)}`
    /** @type {MongoClient[]} */
    const clients = []
    t.after(() => Promise.all(clients.map((client) => client.close())))
    const pidOf = (/** @type {number} */ index) => set.processes[index].pid

    async function connect () {
      const client = new MongoClient(set.uri.replace('/stevec?', `/${name}?`), {
        writeConcern: { w: 'majority', journal: true },
        readConcern: { level: 'majority' },
        serverSelectionTimeoutMS: 10_000
      })
      clients.push(client)
      await client.connect()
      return processOf(client)
    }

    /** @param {number[]} indexes */
    async function kill (indexes) {
      for (const index of indexes) process.kill(pidOf(index), 'SIGKILL')
      for (const index of indexes) await set.start(index)
      await waitUntil(set.isWhole, WAIT_MAX_MS)
    }

    return {
      connect,
      async part () {
        const primary = await set.primary()
        const others = [0, 1, 2].filter((index) => index !== primary).map(pidOf)
        for (const pid of others) await pauseProcess(pid)
        return () => { for (const pid of others) process.kill(pid, 'SIGCONT') }
      },
      killPrimary: async () => kill([await set.primary()]),
      killAll: () => kill([0, 1, 2])
    }
  }

  for (const [name, run] of Object.entries(CONTRACT)) {
    test(name, async (t) => run(await open(t)))
  }
})
