import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, STARTED_WITHIN_MS, trialsOf } from '../helper.js'

describe('a study', () => {
  test('has several runs on one stack under one manifest, and can be resumed after a kill', async () => {
    const sandbox = await createSandbox()
    const { child, output, done } = sandbox.start(['run', 'study', '--only', 'E6,read-sparse', '--repetitions', '1'])
    assert.ok(
      await waitUntil(() => output.stdout.includes('E6 write-vs-read-cached'), STARTED_WITHIN_MS),
      output.stderr
    )
    child.kill('SIGKILL')
    await done
    const [name] = readdirSync(sandbox.results)
    const directory = path.join(sandbox.results, name)
    assert.match(name, /^\d{8}T\d{6}Z-study-/)
    assert.equal(json(path.join(directory, 'manifest.json')).runs[0].status, 'complete')

    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [['--preset', 'full'], /preset was "quick" and is now "full"/],
      [['--only', 'E1'], /only was .*read-sparse.* and is now .*read-hot/],
      [['--repetitions', '2'], /repetitions was 1 and is now 2/]
    ])) {
      const refused = await sandbox.stevec(['run', 'study', '--resume', ...args])
      assert.equal(refused.exitCode, 2)
      assert.match(refused.stderr, message)
    }
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'study', '--resume'])
    assert.equal(exitCode, 0, stdout + stderr)
    assert.equal(stdout.match(/starting mongod/g)?.length, 1)
    const manifest = json(path.join(directory, 'manifest.json'))
    assert.deepEqual(
      [manifest.schema_version, manifest.kind, manifest.status, manifest.preset, manifest.seed, manifest.profile.name],
      [2, 'study', 'complete', 'quick', 1, 'none']
    )
    assert.deepEqual(manifest.runs, [
      { experiment: 'read-sparse', id: 'E2', directory: 'runs/read-sparse', status: 'complete' },
      { experiment: 'write-vs-read-cached', id: 'E6', directory: 'runs/write-vs-read-cached', status: 'complete' }
    ])
    const [sparse] = trialsOf(path.join(directory, 'runs/read-sparse')).filter(({ door }) => door === 'cached')
    const { plans } = json(path.join(directory, 'runs/read-sparse/manifest.json'))
    assert.equal(sparse.cache_statuses.HIT ?? 0, plans[0].requests - plans[0].distinct_pages)
    const report = await sandbox.stevec(['report', 'latest'])
    assert.equal(report.exitCode, 0, report.stdout + report.stderr)
    assert.match(
      readFileSync(path.join(directory, 'report/index.html'), 'utf8'),
      /Through a cache a write takes far longer than a read/
    )
    sandbox.remove()
  })
})
