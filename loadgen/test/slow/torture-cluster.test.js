import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '@stevec/harness/config'
import { planFaults } from '../../src/torture/faults.js'

const run = promisify(execFile)
const MAIN = path.join(ROOT, 'loadgen/src/torture/main.js')
/** An election takes some 3 s; the rest is for slow machines. The figures of a run are in its output. */
const ACCEPTED_MAX_MS = 60_000

const canMakeNetworks = [['--net'], ['--user', '--map-root-user', '--net']]
  .some((way) => spawnSync('unshare', [...way, '--', 'true']).status === 0)

test('the same seed plans the same faults, and never two of the database at once', () => {
  const steps = planFaults({ count: 200, seed: 3 })
  assert.deepEqual(planFaults({ count: 200, seed: 3 }), steps)
  assert.equal(steps.flatMap(({ faults }) => faults).length, 200)
  for (const { faults } of steps) {
    const ofDatabase = faults.filter(({ target }) => target === 'primary' || target === 'secondary')
    assert.ok(ofDatabase.length <= 1)
    for (const { lasts_ms: ms } of faults) assert.ok(ms >= 1_000 && ms <= 8_000)
  }
})

test('kills and partitions of a cluster lose no acknowledged edit', {
  timeout: 900_000,
  skip: canMakeNetworks ? false : 'no network namespace can be made here: run it as root'
}, async (t) => {
  const { stdout } = await run(process.execPath, [MAIN, '--faults', '10', '--seed', '7'], { maxBuffer: 10_000_000 })
  const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  t.diagnostic(stdout)
  assert.equal(result.faults, 10)
  assert.ok(result.acknowledged > 50)
  assert.equal(result.lost, 0)
  assert.equal(result.held, true)
  for (const { fault, accepted_max_ms: ms } of result.by_fault) assert.ok(ms < ACCEPTED_MAX_MS, `${fault}: ${ms} ms`)
})
