import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { migrate } from '../src/migrations/migrate.js'
import { useWiki } from './helper.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000

/** @param {import('node:test').TestContext} t */
async function openDatabase (t) {
  const connection = await mongoose.createConnection(wiki.freshUri()).asPromise()
  t.after(() => connection.close())
  /** @type {string[]} */
  const warnings = []
  const log = { warn: (/** @type {any} */ text) => { warnings.push(text) } }
  const db = /** @type {any} */ (connection.db)
  const recorded = async () => {
    const found = await db.collection('migrations').find().sort({ _id: 1 }).toArray()
    return found.map((/** @type {Record<string, unknown>} */ { _id, name, documents }) => [_id, name, documents])
  }
  return { db, log, warnings, recorded }
}

test('migrations run in order, once, and are recorded with the number of changed documents', async (t) => {
  const { db, log, warnings, recorded } = await openDatabase(t)
  /** @type {number[]} */
  const ran = []
  const migration = (/** @type {number} */ number, documents = 0) =>
    ({ number, name: `change-${number}`, run: async () => { ran.push(number); return documents } })
  const first = [migration(1, 3), migration(2)]
  await migrate({ db, log, migrations: first })
  await migrate({ db, log, migrations: first })
  assert.deepEqual(ran, [1, 2])
  assert.deepEqual(warnings, ['migration 1 (change-1) has changed 3 documents'])

  await migrate({ db, log, migrations: [...first, migration(3)] })
  assert.deepEqual(ran, [1, 2, 3])
  assert.deepEqual(await recorded(), [[1, 'change-1', 3], [2, 'change-2', 0], [3, 'change-3', 0]])

  await migrate({ db, log, migrations: first })
  assert.match(warnings[1], /a newer version of the wiki has changed what is stored \(migration 3\)/)
})

test('when several processes start together, one runs the migration and the others wait', async (t) => {
  const { db, log, recorded } = await openDatabase(t)
  let running = 0
  let runs = 0
  let end = () => {}
  const held = new Promise((resolve) => { end = () => resolve(undefined) })
  const migrations = [{
    number: 1,
    name: 'held',
    run: async () => {
      runs++
      running++
      assert.equal(running, 1)
      await held
      running--
      return 1
    }
  }]
  let ended = 0
  const all = Array.from({ length: 4 }, () => migrate({ db, log, migrations }).then(() => { ended++ }))
  await waitUntil(() => runs === 1, WAIT_MAX_MS)
  assert.equal(ended, 0)
  end()
  await Promise.all(all)
  assert.equal(runs, 1)
  assert.deepEqual(await recorded(), [[1, 'held', 1]])
})

test('a failed migration is not recorded, and the next start runs it again', async (t) => {
  const { db, log, recorded } = await openDatabase(t)
  let attempts = 0
  const migrations = [{
    number: 1,
    name: 'second-time',
    run: async () => {
      if (++attempts === 1) throw new Error('the database went away')
      return 2
    }
  }]
  await assert.rejects(migrate({ db, log, migrations }), /the database went away/)
  assert.deepEqual(await recorded(), [])
  await migrate({ db, log, migrations })
  assert.deepEqual(await recorded(), [[1, 'second-time', 2]])
})

test('the lease of a dead process expires, and a running migration renews its own lease', async (t) => {
  const { db, log, recorded } = await openDatabase(t)
  const leases = db.collection('migration_lease')
  await leases.insertOne({ _id: 'lease', owner: 'dead', until: new Date(Date.now() + 1_500) })
  let runs = 0
  const migrations = [{
    number: 1,
    name: 'renewed',
    run: async () => {
      runs++
      const first = (await leases.findOne({ _id: 'lease' })).until
      const renewed = await waitUntil(async () => (await leases.findOne({ _id: 'lease' })).until > first, WAIT_MAX_MS)
      return renewed ? 1 : 0
    }
  }]
  await migrate({ db, log, migrations, leaseMs: 3_000 })
  assert.equal(runs, 1)
  assert.deepEqual(await recorded(), [[1, 'renewed', 1]])
  // Released at once, so that the next start need not wait until it expires.
  assert.equal((await leases.findOne({ _id: 'lease' })).until.getTime(), 0)
})
