import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { get, save } from '../helper.js'

const EDITS = 10
/** The promise is 25 s, as a proxy waits for 30; the rest is for slow machines. Without it the last takes 60 s. */
const ANSWER_MAX_MS = 45_000

test('while the database answers reads but holds all writes, edits get 503 before a proxy gives up, ' +
  'views are served, and no refused edit is made later', async (t) => {
  const mongod = await startMongod()
  t.after(() => mongod.stop())
  const uri = mongod.uriFor('held')
  const app = await buildApp(readConfig({ MONGODB_URI: uri, LOG_LEVEL: 'silent', WRITES_PER_MINUTE: '0' }))
  t.after(() => app.close())
  assert.equal((await save(app, 'there', 'before')).statusCode, 201)
  const admin = await MongoClient.connect(uri)
  t.after(() => admin.close())
  // As a backup of the files does: https://www.mongodb.com/docs/manual/reference/command/fsync/
  await admin.db('admin').command({ fsync: 1, lock: true })

  const start = performance.now()
  // Half of them change the same page, and so wait for each other.
  const names = Array.from({ length: EDITS }, (_, index) => index % 2 === 0 ? 'there' : `refused ${index}`)
  const answers = names.map(async (name) => {
    const { statusCode } = await save(app, name, 'refused')
    return { statusCode, ms: performance.now() - start }
  })
  assert.equal((await get(app, '/wiki/there')).statusCode, 200)
  const slowestMs = Math.max(...(await Promise.all(answers)).map(({ ms }) => ms))
  t.diagnostic(`the last edit was refused after ${Math.round(slowestMs)} ms`)
  assert.deepEqual([...new Set((await Promise.all(answers)).map(({ statusCode }) => statusCode))], [503])
  assert.ok(slowestMs < ANSWER_MAX_MS)

  await admin.db('admin').command({ fsyncUnlock: 1 })
  assert.equal((await save(app, 'there', 'after')).statusCode, 200)
  const { headers, body } = await get(app, '/wiki/there')
  assert.match(body, /after/)
  assert.equal(headers['page-revision'], '2')
  assert.equal((await get(app, '/wiki/refused%201')).statusCode, 404)
})
