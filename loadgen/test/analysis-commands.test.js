import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'

const stevec = (/** @type {string[]} */ ...args) => spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })

test('predict answers with a table or JSON, and says what is wrong with a scenario', () => {
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

test('compare wants two runs that there are; 1 is kept for a violated gate', () => {
  assert.match(stevec('compare', '--help').stdout, /Exit status: 0 [^]*1 a gate is violated, 2/)
  for (const args of [[], ['latest'], ['nowhere', 'elsewhere']]) {
    const { status, stderr } = stevec('compare', ...args)
    assert.equal(status, 2, stderr)
  }
})
