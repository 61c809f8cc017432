import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createSandbox, trialsOf } from './helper.js'

test('a trial with shared=redis has a Redis, whose processor time is the database\'s', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment({
    settings: { door: 'source', pages: 3, requests: 30, page_size_chars: 500 },
    factors: { shared: ['redis'] },
    presets: { quick: { repetitions: 1 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const [{ name, valid }] = trialsOf(directory)
  assert.ok(valid)
  const processes = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'processes.csv.gz'))).toString()
  const parts = new Map(processes.split('\n').map((row) => [row.split(',')[1], row.split(',')[2]]))
  assert.equal(parts.get('redis'), 'database')
  assert.equal(parts.get('mongod'), 'database')
  const manifest = readFileSync(path.join(directory, 'manifest.json'), 'utf8')
  assert.match(manifest, /"redis": "\d+\.\d+\.\d+"/, 'its version')
  assert.doesNotMatch(manifest + stdout + stderr, /redis:\/\//)
})
