import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPurgeEntries, purgeTasks } from '@stevec/wiki-app/caching/purge-entries'
import { startMongod } from '@stevec/harness/mongod'
import { createRandom } from '@stevec/harness/random'
import { MongoClient, ObjectId } from 'mongodb'
import { createDatabase } from '../src/simulate/database.js'
import { createTime } from '../src/simulate/time.js'

const STEPS = 300
const SEED = 5
/** All: which of several that are due at the same time come first is not defined. */
const MANY = 1_000
const APIS = ['edge 0', 'edge 1']

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
  await mongod.stop()
})

/** @param {object} collection @returns {any} what the queue uses of a mongoose connection */
const modelOf = (collection) => ({ model: () => ({ collection }) })

/** Claims are of other processes in the two databases. @param {any[]} documents */
const comparable = (documents) => documents
  .map(({ _id, claim, ...fields }) => ({ ...fields, isClaimed: claim !== null }))
  .sort((one, other) => orderOf(one) < orderOf(other) ? -1 : 1)
const orderOf = (/** @type {any} */ { due_at: dueAt, done_up_to: doneUpTo, content: { api, urls } }) =>
  JSON.stringify([dueAt, api, urls, doneUpTo])

/** A queue in virtual time. @param {number} seed */
function simulatedQueue (seed) {
  const time = createTime()
  const connection = createDatabase({ time, random: createRandom(seed) }).connect()
  return {
    collection: connection.queue,
    /** @template T @param {() => Promise<T>} act @returns {Promise<T>} */
    async run (act) {
      let isOver = false
      const acting = act().finally(() => { isOver = true })
      acting.catch(() => {})
      await time.run(() => isOver, () => new Promise((resolve) => { setImmediate(resolve) }))
      return acting
    },
    /** @param {object[]} entries */
    add: (entries) => connection.save('a', () => null, () => entries)
  }
}

test('the queue of purges does the same on the simulated database as on MongoDB', async () => {
  const random = createRandom(SEED)
  const below = (/** @type {number} */ count) => Math.floor(random() * count)
  let nowMs = Date.UTC(2030, 0, 1)
  const clock = /** @type {any} */ ({ now: () => nowMs, wall: () => nowMs })
  const real = client.db('documents').collection('queue')
  const simulated = simulatedQueue(SEED)
  const options = { leaseMs: 60_000, repeatAfterMs: 10_000, clock }
  const targets = [{ api: APIS[0], others: APIS.slice(1) }, { api: APIS[1], others: null }]
  const [reals, models] = [real, simulated.collection].map((collection) =>
    targets.map((target) => createPurgeEntries(modelOf(collection), { ...options, target })))
  /** @type {any[][][]} what each store has claimed, in both databases */
  const claimed = targets.map(() => [[], []])
  let claims = 0

  for (let step = 0; step < STEPS; step++) {
    nowMs += 1 + below(4_000)
    const number = below(targets.length)
    const stores = [reals[number], models[number]]
    /** @param {(store: typeof stores[0], entries: any[]) => Promise<any>} act */
    const both = async (act) => [
      await act(stores[0], claimed[number][0]), await simulated.run(() => act(stores[1], claimed[number][1]))
    ]
    const action = below(6)
    if (action < 2) {
      const page = `p${below(4)}`
      const stale = { everything: /** @type {const} */ (false), urls: [`/wiki/${page}`], tags: [] }
      const entries = purgeTasks([stale], APIS[below(2)]).map((task) =>
        ({ _id: new ObjectId(), ...task, done_up_to: '', due_at: new Date(nowMs), claim: null, failures: 0 }))
      await real.insertMany(structuredClone(entries).map((entry, index) => ({ ...entry, _id: entries[index]._id })))
      await simulated.run(() => simulated.add(entries))
    } else if (action === 2) {
      const results = await both((store) => store.claim(MANY))
      claimed[number] = results
      claims += results[0].length
      assert.deepEqual(comparable(results[1]), comparable(results[0]), `step ${step}`)
    } else if (action === 3) await both((store, entries) => store.markPurged(entries))
    else if (action === 4) await both((store, entries) => store.postpone(entries, 5_000))
    else if (below(10) === 0) await both((store, entries) => store.replaceByEverything(entries, 1_000))
    const confirmed = await both((store) => store.isPurged(['p0']))
    assert.equal(confirmed[1], confirmed[0], `step ${step}`)
    const counted = await both((store) => store.allIfMoreThan(5))
    assert.equal(counted[1].length, counted[0].length, `step ${step}`)
    const first = { sort: { due_at: /** @type {const} */ (1) }, limit: 2 }
    const dueAt = (/** @type {any[]} */ found) => found.map(({ due_at: at }) => at)
    assert.deepEqual(dueAt(await simulated.run(() => simulated.collection.find({}, first).toArray())),
      dueAt(await real.find({}, first).toArray()), `step ${step}`)
    const left = await simulated.run(() => simulated.collection.find({}).toArray())
    assert.deepEqual(comparable(left), comparable(await real.find({}).toArray()), `step ${step}`)
  }
  assert.ok(claims > 20, `${claims} claims`)
})
