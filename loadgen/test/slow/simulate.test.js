import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MUTANTS } from '../../src/simulate/mutants.js'
import { createSandbox } from '../helper.js'

test('stevec simulate --plant-faults finds each of more than thirty faults of the protocol', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const { exitCode, stdout } = await sandbox.stevec(['simulate', '--plant-faults'])
  assert.equal(exitCode, 0, stdout)
  assert.ok(MUTANTS.length >= 30)
  assert.match(stdout, new RegExp(`^${MUTANTS.length} of ${MUTANTS.length} planted faults are found$`, 'm'))
})

test('in 200 000 reads of ten seeds, none is older than the bound', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const { exitCode, stdout } = await sandbox.stevec(['simulate', '--seed', '1000', '--reads', '200000'])
  assert.equal(exitCode, 0, stdout)
  assert.match(stdout, /^200000 reads, none older than 500 ms/m)
})
