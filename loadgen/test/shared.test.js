import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createSandbox, trialsOf } from './helper.js'

test('a trial with shared=redis has a Redis, replicated or not, whose processor time is the database\'s', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment({
    settings: { door: 'source', pages: 3, requests: 30, page_size_chars: 500 },
    factors: { shared: ['redis', 'redis-replicated'] },
    presets: { quick: { repetitions: 1 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  /** @type {Record<string, string[]>} */
  const databases = {}
  for (const { name, valid, invalid_reasons: reasons, settings } of trialsOf(directory)) {
    assert.ok(valid, reasons.join())
    const processes = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'processes.csv.gz'))).toString()
    const rows = processes.split('\n').map((row) => row.split(',')).filter(([, , part]) => part === 'database')
    databases[settings.shared] = [...new Set(rows.map(([, process]) => process))].sort()
  }
  assert.deepEqual(databases, {
    redis: ['mongod', 'redis'],
    'redis-replicated': ['mongod', 'redis master', 'redis replica', 'sentinel 1', 'sentinel 2', 'sentinel 3']
  })
  const manifest = readFileSync(path.join(directory, 'manifest.json'), 'utf8')
  assert.match(manifest, /"redis": "\d+\.\d+\.\d+"/, 'its version')
  assert.doesNotMatch(manifest + stdout + stderr, /redis(-sentinel)?:\/\//)
})
