import assert from 'node:assert/strict'
import test from 'node:test'
import { DEFERRED_STRATEGIES } from '../../src/deferred/strategy-names.js'
import { measureLoss } from '../../torture/loss.js'

for (const strategy of DEFERRED_STRATEGIES) {
  test(`${strategy} loses and doubles nothing when SIGTERM stops a wiki of two processes under load`, async (t) => {
    const { trials } = await measureLoss({ strategy, ending: 'SIGTERM', trials: 4, seed: 23, workers: 2 })
    t.diagnostic(trials.map(({ acknowledged }) => acknowledged).join(', ') + ' saves were acknowledged')
    assert.equal(trials.length, 4)
    for (const { lost, doubled } of trials) assert.deepEqual({ lost, doubled }, { lost: 0, doubled: 0 })
  })
}

test('what is killed loses what was acknowledged and not stored, and safe strategies lose nothing', async () => {
  const ending = /** @type {const} */ ('SIGKILL')
  const bulk = await measureLoss({ strategy: 'unsafe-bulk', ending, trials: 3, seed: 23 })
  assert.ok(bulk.trials.some(({ lost }) => lost > 0), 'the measurement sees a loss')
  const safe = await measureLoss({ strategy: 'group-commit', ending, trials: 3, seed: 23 })
  assert.ok(safe.trials.every(({ lost, doubled }) => lost === 0 && doubled === 0))
})

test('unsafe-write-behind loses nothing with the wiki, and stores nothing twice when Redis fails over', async (t) => {
  const strategy = 'unsafe-write-behind'
  const killed = await measureLoss({ strategy, ending: 'SIGKILL', trials: 3, seed: 23, workers: 2 })
  for (const { lost, doubled } of killed.trials) assert.deepEqual({ lost, doubled }, { lost: 0, doubled: 0 })
  const { trials } = await measureLoss({ strategy, ending: 'FAILOVER', trials: 2, seed: 23 })
  t.diagnostic(`lost in a failover, of what was acknowledged: ${trials.map(({ lost, acknowledged }) =>
    `${lost} of ${acknowledged}`).join(', ')}`)
  assert.ok(trials.every(({ doubled }) => doubled === 0))
})
