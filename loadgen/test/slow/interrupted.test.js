import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, STARTED_WITHIN_MS } from '../helper.js'

describe('a run that is interrupted', () => {
  for (const [signal, wholeGroup] of /** @type {const} */ ([
    ['SIGINT', true],
    ['SIGTERM', false],
    ['SIGKILL', false]
  ])) {
    test(`by ${signal} leaves no process and gets no report; resuming keeps its finished trials`, async () => {
      const sandbox = await createSandbox()
      const file = sandbox.experiment({
        presets: { quick: { repetitions: 3 } },
        settings: { pages: 10, page_size_chars: 500, requests: 400, pause_s: 0.002, duration_max_s: 60 }
      })
      const { child, output, done } = sandbox.start(['run', file, '--seed', '3'])
      assert.ok(await waitUntil(() => output.stdout.includes('trial 2 of 6'), STARTED_WITHIN_MS), output.stderr)
      process.kill(wholeGroup ? -Number(child.pid) : Number(child.pid), signal)
      const { exitCode } = await done
      assert.equal(exitCode, signal === 'SIGKILL' ? null : 130)
      assert.ok(await waitUntil(() => sandbox.processes().length === 0, 60_000), JSON.stringify(sandbox.processes()))

      const [name] = readdirSync(sandbox.results)
      const directory = path.join(sandbox.results, name)
      assert.equal(json(path.join(directory, 'manifest.json')).status, signal === 'SIGKILL' ? 'running' : 'interrupted')
      const latest = await sandbox.stevec(['report', 'latest'])
      assert.equal(latest.exitCode, 2)
      assert.match(latest.stderr, /there is no complete run/)
      if (signal === 'SIGTERM') return sandbox.remove()

      // A half-written trial, which an interruption can leave, does not count.
      mkdirSync(path.join(directory, 'trials/0006.partial'), { recursive: true })
      const whole = readdirSync(path.join(directory, 'trials')).filter((entry) => /^\d{4}$/.test(entry))
      assert.ok(whole.length >= 2 && whole.length < 6)
      const times = whole.map((entry) => statSync(path.join(directory, 'trials', entry, 'trial.json')).mtimeMs)
      for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
        [['--seed', '4'], /cannot be resumed: seed was 3 and is now 4/],
        [['--repetitions', '2', file], /the experiment's repetitions was 3 and is now 2/]
      ])) {
        const refused = await sandbox.stevec(['run', '--resume', ...args])
        assert.match(refused.stderr, message)
        assert.equal(refused.exitCode, 2)
      }
      const manifestFile = path.join(directory, 'manifest.json')
      const begun = json(manifestFile)
      writeFileSync(manifestFile, JSON.stringify({ ...begun, versions: { ...begun.versions, node: '1.0.0' } }))
      const elsewhere = await sandbox.stevec(['run', '--resume'])
      assert.equal(elsewhere.exitCode, 2)
      assert.match(elsewhere.stderr, /begun under other conditions: versions\.node was "1\.0\.0" and is now .*--accept-changes/)
      if (signal === 'SIGINT') writeFileSync(manifestFile, JSON.stringify(begun))

      const resumed = await sandbox.stevec(
        signal === 'SIGINT' ? ['run', '--resume'] : ['run', file, '--resume', '--seed', '3', '--accept-changes']
      )
      assert.equal(resumed.exitCode, 0, resumed.stdout + resumed.stderr)
      assert.match(resumed.stdout, new RegExp(`${whole.length} of them done already`))
      assert.deepEqual(readdirSync(path.join(directory, 'trials')).sort(), [
        '0001', '0002', '0003', '0004', '0005', '0006'
      ])
      assert.deepEqual(
        whole.map((entry) => statSync(path.join(directory, 'trials', entry, 'trial.json')).mtimeMs),
        times
      )
      const manifest = json(path.join(directory, 'manifest.json'))
      assert.deepEqual(
        [manifest.status, manifest.resumed_at.length, readdirSync(sandbox.results)],
        ['complete', 1, [name]]
      )
      const [{ trials, changes }] = manifest.resumptions
      assert.deepEqual([trials.length + whole.length, changes.length], [6, signal === 'SIGINT' ? 0 : 1])
      const nothing = await sandbox.stevec(['run', '--resume'])
      assert.match(nothing.stderr, /there is no unfinished run/)
      sandbox.remove()
    })
  }
})

test('a run after a killed one removes its leftovers and succeeds', async () => {
  const sandbox = await createSandbox()
  const { child, output, done } = sandbox.start(['run', 'read-hot'])
  assert.ok(await waitUntil(() => output.stdout.includes('wrote 100 pages'), STARTED_WITHIN_MS), output.stderr)
  child.kill('SIGKILL')
  await done
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1'])
  assert.equal(exitCode, 0, stdout + stderr)
  sandbox.remove()
})
