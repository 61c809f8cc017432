import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { startMongod } from '@stevec/harness/mongod'
import { EXIT } from '../src/exit-codes.js'
import { createDatabases } from '../src/lab/database.js'
import { createSandbox, trialsOf } from './helper.js'

const SECRET = 'known-to-nobody-else'
const EXPERIMENT = {
  settings: { door: 'source', pages: 5, page_size_chars: 500, requests: 40, edit_ratio: 0.25, duration_max_s: 60 },
  factors: { database: ['single', '$OTHER_DATABASE'] }
}

/** @param {string} uri @returns {Promise<string[]>} names of the databases that are not MongoDB's own */
async function databasesOf (uri) {
  const client = new MongoClient(uri)
  try {
    const { databases } = await client.db('admin').admin().listDatabases()
    return databases.map(({ name }) => name).filter((name) => !['admin', 'config', 'local'].includes(name))
  } finally {
    await client.close()
  }
}

test('one level of a factor is a database of the user, which no result describes', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const mongod = await startMongod()
  t.after(mongod.stop)
  const uri = new URL(mongod.uriFor('mine'))
  uri.searchParams.set('appName', SECRET)

  const { exitCode, stdout, stderr } = await sandbox.stevec(
    ['run', sandbox.experiment(EXPERIMENT)], { OTHER_DATABASE: uri.href }
  )
  assert.equal(exitCode, EXIT.good, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const trials = trialsOf(directory)
  assert.deepEqual(trials.map(({ cell }) => cell.database).sort(), ['$OTHER_DATABASE', 'single'])
  for (const { name, valid, invalid_reasons: reasons, counter, cell } of trials) {
    assert.ok(valid, reasons.join())
    assert.equal(counter.requests, 40)
    const rows = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'processes.csv.gz'))).toString()
    assert.match(rows, /,mongod,database,/, `the mongod of ${cell.database} is watched`)
  }
  assert.deepEqual(await databasesOf(mongod.uri), [], 'the run drops its database')
  const found = execFileSync('sh', ['-c', 'grep -rlaz "$1" "$2" || true', 'sh', SECRET, directory], { encoding: 'utf8' })
  assert.equal(found + (stdout + stderr).match(SECRET), 'null')
})

test('a server that refuses to drop its database leaves no database behind on the others', async (t) => {
  const mongod = await startMongod()
  t.after(mongod.stop)
  const refusing = new URL(mongod.uri)
  refusing.username = refusing.password = 'unknown'
  const uris = { REFUSING: refusing.href, ANSWERING: mongod.uri }
  const databases = createDatabases({ uriOf: (name) => uris[/** @type {keyof typeof uris} */ (name)] })
  await databases.use('$REFUSING')
  const used = await databases.use('$ANSWERING')
  const client = new MongoClient(String(used?.uri))
  await client.db().collection('pages').insertOne({}).finally(() => client.close())
  assert.equal((await databasesOf(mongod.uri)).length, 1)
  await assert.rejects(databases.drop(), /Authentication failed/)
  assert.deepEqual(await databasesOf(mongod.uri), [])
})

test('a database that the environment does not name is refused before anything starts', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment(EXPERIMENT)
  for (const [environment, message] of /** @type {const} */ ([
    [{}, /names the database \$OTHER_DATABASE: set OTHER_DATABASE to its URI/],
    [{ OTHER_DATABASE: `postgres://me:${SECRET}@host/` }, /OTHER_DATABASE is no URI of a MongoDB/],
    [{ OTHER_DATABASE: 'mongodb://127.0.0.1/', MONGODB_URI: 'mongodb://127.0.0.1/' }, /leave MONGODB_URI out/]
  ])) {
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file], environment)
    assert.equal(exitCode, EXIT.usage, stdout + stderr)
    assert.match(stderr, message)
    assert.doesNotMatch(stdout + stderr, new RegExp(SECRET))
  }
  assert.equal(sandbox.processes().length, 0)
})
