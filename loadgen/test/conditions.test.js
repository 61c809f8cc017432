import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { lockHolder } from '@stevec/harness/machine-lock'
import { waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, STARTED_WITHIN_MS, trialsOf } from './helper.js'

/** No process listens on this port. */
const NO_PROXY = 'http://127.0.0.1:9'

describe('two measurements at once', () => {
  test('are refused, also with state of their own, unless the second waits', async (t) => {
    const [first, second] = [await createSandbox(), await createSandbox()]
    /** @type {ReturnType<typeof first.start>[]} */
    const started = []
    t.after(async () => {
      for (const { child } of started) child.kill('SIGKILL')
      await Promise.all(started.map(({ done }) => done))
      first.remove()
      second.remove()
    })
    const together = { STEVEC_LOCK: first.env.STEVEC_LOCK }
    const file = first.experiment({ factors: { door: ['source'] } })

    const run = first.start(['run', file])
    started.push(run)
    assert.ok(await waitUntil(() => run.output.stdout.includes('starting mongod'), STARTED_WITHIN_MS))
    const waiting = second.start(['run', file, '--wait'], together)
    started.push(waiting)
    assert.ok(await waitUntil(() => waiting.output.stdout.includes('waiting for'), STARTED_WITHIN_MS))
    const holder = new RegExp(`process ${run.child.pid}, stevec run ${file}, since \\d{4}-`)
    assert.match(waiting.output.stdout, holder)

    for (const args of [['run', file], ['verify', '--short'], ['calibrate']]) {
      const { exitCode, stderr } = await second.stevec(args, together)
      assert.match(stderr, holder, args.join(' '))
      assert.match(stderr, /another measurement is under way .* wait for it .*--wait/)
      assert.equal(exitCode, 3, args.join(' '))
    }
    assert.equal(existsSync(second.results), false)
    const load = await second.stevec(
      ['load', '--url', `http://127.0.0.1:${first.ports.wiki}`, '--requests', '1', '--json'], together)
    assert.match(load.stderr, /^warning: a measurement is under way on this machine: process \d+, stevec run/m)

    assert.equal((await run.done).exitCode, 0, run.output.stderr)
    assert.equal((await waiting.done).exitCode, 0, waiting.output.stderr)
    const manifest = (/** @type {typeof first} */ { results }) =>
      json(path.join(results, readdirSync(results)[0], 'manifest.json'))
    assert.ok(manifest(second).started_at >= manifest(first).finished_at, 'one after the other')
  })
})

describe('a benchmark', () => {
  const made = readFileSync(path.join(ROOT, 'Makefile'), 'utf8')
    .match(/node (harness\/bin\/alone\.js \S+ )?\S+\/bench\/\S+/g) ?? []
  const commands = [...new Set(made), ...[
    'wiki-app/bench/scaling.js', 'wiki-app/bench/search.js', 'wiki-app/bench/v8-flags.js', 'loadgen/bench/generator.js',
    'loadgen/bench/links.js'
  ].map((file) => `node ${file}`)]

  test('of times does not begin while another measurement is under way', async (t) => {
    const sandbox = await createSandbox()
    const holder = spawn(process.execPath, ['harness/bin/alone.js', 'cat'], {
      cwd: ROOT,
      env: sandbox.env,
      stdio: ['pipe', 'ignore', 'inherit']
    })
    t.after(() => {
      holder.stdin.end()
      sandbox.remove()
    })
    process.env.STEVEC_LOCK = sandbox.env.STEVEC_LOCK
    assert.ok(await waitUntil(lockHolder, STARTED_WITHIN_MS))
    assert.ok(commands.length >= 13, commands.join(', '))
    for (const command of commands) {
      const options = { cwd: ROOT, env: sandbox.env, shell: true, timeout: STARTED_WITHIN_MS }
      const { status, stderr } = spawnSync(command, { ...options, encoding: 'utf8' })
      assert.match(stderr, new RegExp(`process ${holder.pid}, harness/bin/alone.js cat, since`), command)
      assert.equal(status, 3, command)
    }
  })
})

describe('a run that may not fit on the disk', () => {
  test('is refused before it begins', async (t) => {
    const sandbox = await createSandbox()
    t.after(() => sandbox.remove())
    // Readers for a day in each of many trials: petabytes.
    const settings = { requests: 2000, pause_s: 60, background_vus: 2000, duration_max_s: 86_400 }
    const file = sandbox.experiment({ settings, presets: { quick: { repetitions: 1000 } } })
    const { exitCode, stderr } = await sandbox.stevec(['run', file])
    assert.match(stderr, /the run writes up to \d+\.\d GB in .*results \(STEVEC_RESULTS\) and .* GB are free\. Free /)
    assert.equal(exitCode, 3)
    assert.deepEqual([existsSync(sandbox.results), existsSync(sandbox.env.STEVEC_STATE)], [false, false])
  })
})

describe('the user\'s environment', () => {
  test('with a proxy changes nothing: each request goes straight to its door', async (t) => {
    const sandbox = await createSandbox()
    t.after(() => sandbox.remove())
    const file = sandbox.experiment({})
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file], {
      HTTP_PROXY: NO_PROXY,
      http_proxy: NO_PROXY,
      HTTPS_PROXY: NO_PROXY,
      https_proxy: NO_PROXY,
      NODE_USE_ENV_PROXY: '1'
    })
    assert.equal(exitCode, 0, stdout + stderr)
    const trials = trialsOf(path.join(sandbox.results, readdirSync(sandbox.results)[0]))
    assert.deepEqual(trials.map((trial) => [trial.valid, trial.requests_sent, trial.requests_failed]),
      [[true, 50, 0], [true, 50, 0]])
  })
})
