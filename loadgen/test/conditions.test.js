import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { lockFolder } from '@stevec/harness/folder-lock'
import { lockHolder } from '@stevec/harness/machine-lock'
import { isAlive, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { createSandbox, json, STARTED_WITHIN_MS, trialsOf } from './helper.js'

/** No process listens on this port. */
const NO_PROXY = 'http://127.0.0.1:9'

/**
 * Holds the machine's lock of a sandbox until its input ends.
 * @param {Awaited<ReturnType<typeof createSandbox>>} sandbox
 */
async function holdMachine ({ env }) {
  const holder = spawn(process.execPath, ['harness/bin/alone.js', 'cat'], {
    cwd: ROOT,
    env,
    stdio: ['pipe', 'ignore', 'inherit']
  })
  process.env.STEVEC_LOCK = env.STEVEC_LOCK
  assert.ok(await waitUntil(lockHolder, STARTED_WITHIN_MS))
  return holder
}

describe('while another measurement is under way', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Awaited<ReturnType<typeof holdMachine>>} */
  let holder
  beforeEach(async () => {
    sandbox = await createSandbox()
    holder = await holdMachine(sandbox)
  })
  afterEach(() => {
    holder.stdin.end()
    sandbox.remove()
  })
  const said = () => new RegExp(`process ${holder.pid}, harness/bin/alone.js cat, since \\d{4}-`)

  test('a second one is refused, and a load warns', async () => {
    const file = sandbox.experiment({})
    for (const args of [['run', file], ['verify', '--short'], ['calibrate']]) {
      const { exitCode, stderr } = await sandbox.stevec(args)
      assert.match(stderr, said(), args.join(' '))
      assert.match(stderr, /another measurement is under way .* wait for it .*--wait/)
      assert.equal(exitCode, 3, args.join(' '))
    }
    assert.deepEqual([existsSync(sandbox.results), existsSync(sandbox.env.STEVEC_STATE)], [false, false])
    const url = `http://127.0.0.1:${sandbox.ports.wiki}`
    const load = await sandbox.stevec(['load', '--url', url, '--requests', '1', '--json'])
    assert.match(load.stderr, /^warning: a measurement is under way on this machine: process \d+, harness/m)
  })

  test('a run waits on request, and begins when the other has ended', async (t) => {
    const experiment = sandbox.experiment({ factors: { door: ['source'] } })
    const { child, output, done } = sandbox.start(['run', experiment, '--wait'])
    t.after(() => child.kill('SIGKILL'))
    assert.ok(await waitUntil(() => output.stdout.includes('waiting for'), STARTED_WITHIN_MS))
    assert.match(output.stdout, said())
    assert.equal(existsSync(sandbox.results), false)
    const endedAt = new Date().toISOString()
    holder.stdin.end()
    assert.equal((await done).exitCode, 0, output.stderr)
    const [run] = readdirSync(sandbox.results)
    assert.ok(json(path.join(sandbox.results, run, 'manifest.json')).started_at >= endedAt)
  })
})

describe('a measurement that does not see the other\'s lock, as in a container of its own', () => {
  test('is refused where both have one folder, and `down` stops nothing there', async (t) => {
    const sandbox = await createSandbox()
    const directory = path.join(sandbox.env.STEVEC_STATE, 'lab')
    const release = await lockFolder(directory)
    assert.ok(release)
    const sleeper = await startProcess({
      name: 'wiki', command: 'sleep', args: ['300'], logFile: path.join(sandbox.directory, 'log')
    })
    t.after(async () => {
      await stopProcess(sleeper)
      sandbox.remove()
    })
    mkdirSync(directory)
    writeFileSync(path.join(directory, 'stack.json'), JSON.stringify({ processes: [sleeper] }))
    const file = sandbox.experiment({})
    for (const args of [['run', file], ['calibrate']]) {
      const { exitCode, stderr } = await sandbox.stevec(args)
      assert.match(stderr, /another measurement uses the folder .*state\/lab, .*STEVEC_STATE/, args.join(' '))
      assert.equal(exitCode, 3)
    }
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    assert.equal(isAlive(sleeper), true)
    await release()
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    assert.equal(isAlive(sleeper), false)
  })
})

describe('a benchmark', () => {
  const made = readFileSync(path.join(ROOT, 'Makefile'), 'utf8')
    .match(/node (harness\/bin\/alone\.js \S+ )?\S+\/bench\/\S+/g) ?? []
  const commands = [...new Set(made), ...[
    'wiki-app/bench/scaling.js', 'wiki-app/bench/search.js', 'wiki-app/bench/v8-flags.js',
    'wiki-app/bench/words.js', 'loadgen/bench/generator.js',
    'loadgen/bench/links.js'
  ].map((file) => `node ${file}`)]

  test('of times does not begin while another measurement is under way', async (t) => {
    const sandbox = await createSandbox()
    const holder = await holdMachine(sandbox)
    t.after(() => {
      holder.stdin.end()
      sandbox.remove()
    })
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
