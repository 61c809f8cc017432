import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, samplesOf, STARTED_WITHIN_MS, trialsOf } from '../helper.js'
import { configOf, sshdMissing, startSshd } from '../sshd.js'

const REQUESTS = 300

describe('`stevec run --generators`', { skip: sshdMissing(), concurrency: 1 }, () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {string} */
  let directory
  /** @type {Awaited<ReturnType<typeof startSshd>>[]} */
  let machines = []
  /** @type {string[]} */
  let options
  /** @type {Record<string, string>} */
  let environment
  before(async () => {
    sandbox = await createSandbox()
    directory = mkdtempSync(path.join(tmpdir(), 'stevec-machines-'))
    machines = [await startSshd(path.join(directory, '1')), await startSshd(path.join(directory, '2'))]
    options = ['--seed', '7', '--generators', machines.map(({ url }) => url).join()]
    // A lab that is killed leaves the empty folder of its socket.
    const TMPDIR = path.join(directory, 'here')
    mkdirSync(TMPDIR)
    environment = { TMPDIR, STEVEC_SSH_CONFIG: configOf(path.join(directory, 'ssh_config'), machines) }
  })
  after(async () => {
    for (const machine of machines) await machine.stop()
    sandbox.remove()
    rmSync(directory, { recursive: true, force: true })
  })

  const leftThere = () => machines.flatMap(({ there, left }) => [...left(), ...readdirSync(there)])
  const newestRun = () => path.join(sandbox.results, readdirSync(sandbox.results).sort().at(-1) ?? '')

  test('counts every request of a real stack, through doors with and without TLS', async () => {
    const file = sandbox.experiment({
      settings: {
        pages: 20, page_size_chars: 500, requests: REQUESTS, edit_ratio: 0.2, vus: 4, duration_max_s: 60
      },
      factors: { door: ['cached'], protocol: ['http', 'http2'] }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file, ...options, '--report'], environment)
    assert.equal(exitCode, 0, stdout + stderr)
    const run = newestRun()
    const manifestText = readFileSync(path.join(run, 'manifest.json'), 'utf8')
    const manifest = JSON.parse(manifestText)
    assert.deepEqual(manifest.remote_generators,
      [{ name: 'k6', host: '127.0.0.1' }, { name: 'k6 2', host: '127.0.0.1' }])
    assert.equal(manifest.experiment.settings.generators, 2)
    assert.ok(!manifestText.includes(`${userInfo().username}@`), 'no user is told')

    const trials = trialsOf(run)
    assert.equal(trials.length, manifest.trials_planned)
    for (const trial of trials) {
      assert.deepEqual([trial.valid, trial.invalid_reasons], [true, []])
      assert.equal(trial.requests_sent, REQUESTS)
      assert.equal(trial.requests_sent - trial.served_by_cache + trial.refreshes - trial.counter.requests, 0)
      const samples = samplesOf(path.join(run, 'trials', trial.name))
      assert.equal(new Set(samples.map(({ iteration }) => iteration)).size, REQUESTS, 'each iteration once')
      const bounds = trial.generators.map((/** @type {Record<string, number>} */ each) => each.clock_bound_ms)
      assert.ok(bounds.every((/** @type {number} */ boundMs) => boundMs > 0))
      assert.ok(Math.abs(trial.clock_skew_bound_ms - bounds[0] - bounds[1]) < 0.002)
    }
    const page = readFileSync(path.join(run, 'report/index.html'), 'utf8')
    const most = Math.max(...trials.map(({ clock_skew_bound_ms: boundMs }) => boundMs))
    assert.match(page, new RegExp(`the edit came within up to ${Number((1 + most).toPrecision(3))}\\sms`))
    assert.deepEqual([...sandbox.processes(), ...leftThere()], [])
  })

  test('leaves nothing on any machine when it is killed, and resumes on the same machines only', async () => {
    const file = sandbox.experiment({
      settings: { pages: 10, page_size_chars: 500, requests: 400, vus: 2, pause_s: 0.02, duration_max_s: 60 },
      presets: { quick: { repetitions: 2 } }
    })
    const { child, output, done } = sandbox.start(['run', file, ...options], environment)
    assert.ok(await waitUntil(() => output.stdout.includes('trial 2 of 4'), STARTED_WITHIN_MS), output.stderr)
    process.kill(Number(child.pid), 'SIGKILL')
    await done
    assert.ok(await waitUntil(() => leftThere().length === 0, 60_000), `${leftThere()} are left there`)
    assert.ok(await waitUntil(() => sandbox.processes().length === 0, 60_000), JSON.stringify(sandbox.processes()))

    const elsewhere = await sandbox.stevec(['run', '--resume'])
    assert.equal(elsewhere.exitCode, 2)
    assert.match(elsewhere.stderr, /generators of this run were on 127\.0\.0\.1, 127\.0\.0\.1; repeat .*--generators/)
    const resumed = await sandbox.stevec(['run', file, '--resume', ...options], environment)
    assert.equal(resumed.exitCode, 0, resumed.stdout + resumed.stderr)
    assert.equal(json(path.join(newestRun(), 'manifest.json')).status, 'complete')
    assert.ok(trialsOf(newestRun()).every(({ valid }) => valid))
    assert.deepEqual([...sandbox.processes(), ...leftThere()], [])
  })

  test('starts nothing when a machine is a stranger', async () => {
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'read-hot', ...options])
    assert.equal(exitCode, 3)
    assert.match(stderr, /no generator can run on 127\.0\.0\.1: .*Connect by hand/)
    assert.doesNotMatch(stdout, /starting/)
    assert.equal(readdirSync(sandbox.results).length, 2, 'it has made no folder of a run')
  })
})
