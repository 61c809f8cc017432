import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holds } from '../../torture/oracle.js'
import { torture, WORKERS_VICTIMS } from '../../torture/torture.js'

test('after kills of one worker, of the wiki with three workers, of its database and of both, ' +
  'every acknowledged edit is stored once, in order, and found', { timeout: 600_000 }, async () => {
  const { trials, acknowledged, unexpected, findings, words } = await torture({
    trials: WORKERS_VICTIMS.length,
    edits: 200,
    seed: 4,
    workers: 3
  })
  assert.deepEqual(trials.map(({ killed }) => killed), [...WORKERS_VICTIMS])
  assert.ok(acknowledged >= 200)
  assert.deepEqual(unexpected, [])
  assert.deepEqual(words, [])
  assert.ok(holds(findings), JSON.stringify(findings))
})
