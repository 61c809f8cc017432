import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, STARTED_WITHIN_MS } from '../helper.js'

const worktrees = () => execFileSync('git', ['-C', ROOT, 'worktree', 'list'], { encoding: 'utf8' })

test('compare-run measures two versions in turns, compares them, and leaves only results', async () => {
  const sandbox = await createSandbox()
  const file = sandbox.experiment({ presets: { quick: { repetitions: 2 } } })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['compare-run', 'HEAD', 'HEAD', file, '--rounds', '2'])
  assert.equal(exitCode, 0, stdout + stderr)
  assert.match(stdout, /run 4 of 4/)
  assert.match(stdout, /the unit is the run/)
  assert.match(stdout, /hit ratio of door=cached: 80 %/)

  const [name] = readdirSync(sandbox.results)
  assert.match(name, /^\d{8}T\d{6}Z-compare-mine-[0-9a-f]{7}$/)
  const directory = path.join(sandbox.results, name)
  assert.deepEqual(readdirSync(directory).sort(), ['comparison.json', 'comparison.svg', 'new', 'old'])
  const { unit, runs, differences } = json(path.join(directory, 'comparison.json'))
  assert.deepEqual([unit, runs.first.length, runs.second.length], ['run', 2, 2])
  assert.ok(differences.mean_ms['door=source'].detectable > 1)
  const plans = ['old', 'new'].flatMap((side) => readdirSync(path.join(directory, side))
    .map((run) => json(path.join(directory, side, run, 'manifest.json')).plan_hash))
  assert.equal(new Set(plans).size, 1)
  assert.equal(plans.length, 4)

  // One run of each has the spread of the comparison before.
  const one = (/** @type {string} */ side) => path.join(directory, side, readdirSync(path.join(directory, side))[0])
  const later = await sandbox.stevec([
    'compare', one('old'), '--spread', path.join(directory, 'comparison.json'), '--', one('new')
  ])
  assert.equal(later.exitCode, 0, later.stderr)
  assert.match(later.stdout, /the unit is the run, whose spread is also known from/)

  assert.doesNotMatch(worktrees(), new RegExp(sandbox.directory))
  assert.equal(existsSync(path.join(sandbox.directory, 'state/compare-run')), false)
  assert.deepEqual(sandbox.processes(), [])
  sandbox.remove()
})

for (const [signal, wholeGroup] of /** @type {const} */ ([['SIGINT', true], ['SIGTERM', false]])) {
  test(`compare-run stopped by ${signal} removes what it checked out and stops its stack`, async () => {
    const sandbox = await createSandbox()
    const { child, output, done } = sandbox.start(['compare-run', 'HEAD', 'HEAD', sandbox.experiment({})])
    const isMeasuring = () => output.stdout.includes('trial 1 of 2')
    assert.ok(await waitUntil(isMeasuring, STARTED_WITHIN_MS), output.stdout + output.stderr)
    assert.match(worktrees(), new RegExp(sandbox.directory))
    process.kill(wholeGroup ? -Number(child.pid) : Number(child.pid), signal)
    const { exitCode } = await done
    assert.equal(exitCode, 130, output.stdout + output.stderr)
    assert.doesNotMatch(worktrees(), new RegExp(sandbox.directory))
    assert.equal(existsSync(path.join(sandbox.directory, 'state/compare-run')), false)
    assert.deepEqual(sandbox.processes(), [])
    sandbox.remove()
  })
}
