import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'

const stevec = (/** @type {string[]} */ ...args) => spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })

test('stevec predict prints JSON with --json, and exits with 2 and the reason for an invalid scenario', () => {
  const { status, stdout } = stevec(
    'predict', '--pages', '100', '--rate', '1000', '--edits', '0.05', '--requests', '10000', '--json'
  )
  assert.equal(status, 0)
  assert.ok(Math.abs(JSON.parse(stdout).stale_ratio - 0.79) < 0.01)
  assert.match(stevec('predict', '--help').stdout, /examples:[^]*--tiered/)
  const refused = stevec('predict', '--pages', '0', '--rate', '1', '--tiered')
  assert.deepEqual([refused.status, refused.stdout], [2, ''])
  assert.match(refused.stderr, /pages is 0/)
})

test('stevec compare exits with 2 without two existing runs, and with 1 only for a violated gate', () => {
  assert.match(stevec('compare', '--help').stdout, /Exit status: 0 [^]*1 a gate is violated, 2/)
  for (const args of [[], ['latest'], ['nowhere', 'elsewhere']]) {
    const { status, stderr } = stevec('compare', ...args)
    assert.equal(status, 2, stderr)
  }
})
