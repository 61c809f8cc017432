import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { createSandbox } from '../helper.js'

test('a run on the user\'s database server uses a database of its own, and removes it', async () => {
  const sandbox = await createSandbox()
  const mongod = await startMongod()
  const client = new MongoClient(mongod.uri)
  await client.db('stevec').collection('pages').insertOne({ mine: true })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1'], {
    MONGODB_URI: mongod.uri
  })
  assert.equal(exitCode, 0, stdout + stderr)
  assert.doesNotMatch(stdout, /starting mongod/)
  const { databases } = await client.db().admin().listDatabases()
  assert.deepEqual(databases.map(({ name }) => name).sort(), ['admin', 'config', 'local', 'stevec'])
  assert.equal(await client.db('stevec').collection('pages').countDocuments(), 1)
  const manifest = readFileSync(path.join(sandbox.results, readdirSync(sandbox.results)[0], 'manifest.json'), 'utf8')
  assert.doesNotMatch(manifest, /mongodb:\/\//)
  await client.close()
  await mongod.stop()
  sandbox.remove()
})
