import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '@stevec/harness/config'
import { waitUntil } from '@stevec/harness/processes'
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

const NETWORKS = { skip: canMakeNetworks ? false : 'no network namespace can be made here: run it as root' }

test('kills and partitions of a cluster lose no acknowledged edit', { timeout: 900_000, ...NETWORKS }, async (t) => {
  const args = [MAIN, '--faults', '10', '--seed', '7']
  // A failed run has its figures, too.
  const { stdout, stderr } = await run(process.execPath, args, { maxBuffer: 10_000_000, signal: t.signal })
    .catch((error) => error)
  t.diagnostic(`${stdout}${stderr}`)
  const result = JSON.parse(stdout.trim().split('\n').at(-1))
  assert.equal(result.faults, 10)
  assert.ok(result.acknowledged > 50)
  assert.equal(result.lost, 0)
  assert.equal(result.held, true)
  for (const { fault, accepted_max_ms: ms } of result.by_fault) assert.ok(ms < ACCEPTED_MAX_MS, `${fault}: ${ms} ms`)
})

test('a Ctrl-C ends a torture with 130, and nothing is left', { timeout: 600_000, ...NETWORKS }, async (t) => {
  const TMPDIR = mkdtempSync(path.join(tmpdir(), 'stevec-interrupted-'))
  t.after(() => rmSync(TMPDIR, { recursive: true, force: true }))
  // As a shell does: the terminal sends SIGINT to all processes of a group.
  const child = spawn(process.execPath, [MAIN, '--seed', '7'], {
    env: { ...process.env, TMPDIR }, stdio: ['ignore', 'pipe', 'pipe'], detached: true, signal: t.signal
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { output += text })
  const closed = once(child, 'close')
  assert.ok(await waitUntil(() => output.includes('| 1/100 |') || child.exitCode !== null, 300_000), output)
  process.kill(-Number(child.pid), 'SIGINT')
  const [code] = await closed
  assert.equal(code, 130, output)
  assert.match(output, /interrupted by SIGINT/)
  assert.deepEqual(readdirSync(TMPDIR), [])
})
