import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { keepOriginSamples } from '../src/lab/origin-samples.js'
import { parseHost } from '../src/stack/origin/host.js'
import { originOption, refuseTwiceLimited } from '../src/stack/origin/origin.js'
import { sampleProcesses } from '../src/stack/origin/process-samples.js'
import { readProfile } from '../src/profile/profile.js'
import { startTicks, waitUntil } from '@stevec/harness/processes'
import { createSandbox } from './helper.js'

/** @param {import('node:test').TestContext} t */
async function sandbox (t) {
  const place = await createSandbox()
  t.after(() => place.remove())
  return place
}

test('an invalid --origin is refused before any process starts', async (t) => {
  for (const text of [
    'bord', '', 'ssh://', 'ssh://-oProxyCommand=x', 'ssh://me:secret@host', 'ssh://host/path',
    'ssh://host?http_port=0', 'ssh://host?other=1', 'ssh://a%20b', 'ssh://-x@host'
  ]) {
    assert.throws(() => originOption(text), /^Error: --origin /, text)
  }
  assert.deepEqual(parseHost('ssh://stevec.local'), { user: 'root', host: 'stevec.local', sshPort: 22, httpPort: 80 })
  assert.deepEqual(parseHost('ssh://me@192.168.1.7:2222?http_port=8090'), {
    user: 'me',
    host: '192.168.1.7',
    sshPort: 2222,
    httpPort: 8090
  })
  const place = await sandbox(t)
  const { exitCode, stderr } = await place.stevec(['run', 'read-hot', '--origin', 'moon'])
  assert.deepEqual([exitCode, place.processes(), existsSync(place.results)], [2, [], false])
  assert.match(stderr, /--origin is local, board or ssh:\/\/\[user@\]host\[:port\], not "moon"/)
})

test('a profile that limits this machine is refused with an origin on another machine', () => {
  const profile = (/** @type {string} */ name) => ({
    name,
    sha256: '',
    asked: readProfile(name).profile,
    applied: { cpu: false, memory: false, links: false },
    missing: [],
    calibration: null
  })
  assert.throws(
    () => refuseTwiceLimited(profile('banana-pi'), 'board'),
    /banana-pi limits CPU, memory or delay of this machine, but with --origin board the wiki runs on another/
  )
  refuseTwiceLimited(profile('banana-pi'), 'local')
  refuseTwiceLimited(profile('none'), 'board')
})

test('without a board image, `run` and `up` fail with the command that builds it, and leave no process', async (t) => {
  const place = await sandbox(t)
  for (const args of [['run', 'read-hot'], ['up']]) {
    const { exitCode, stderr } = await place.stevec([...args, '--origin', 'board'], {
      STEVEC_IMAGE: path.join(place.directory, 'images')
    })
    assert.equal(exitCode, 3)
    assert.match(stderr, /there is no image that machine virt boots; run: sudo make image\n/)
    assert.deepEqual(place.processes(), [])
  }
  assert.equal(existsSync(place.results), false)
})

test('an ssh origin needs a database that both machines reach', async (t) => {
  const place = await sandbox(t)
  for (const env of /** @type {Record<string, string>[]} */ ([{}, { MONGODB_URI: 'mongodb://localhost:27017/x' }])) {
    const { exitCode, stderr } = await place.stevec(['run', 'read-hot', '--origin', 'ssh://stevec.invalid'], env)
    assert.equal(exitCode, 2)
    assert.match(stderr, /needs a database that both machines reach: set MONGODB_URI/)
  }
})

test('a run can be resumed only at the origin where it began', async (t) => {
  const place = await sandbox(t)
  const run = path.join(place.results, '20261121T000000Z-read-hot-0000000')
  mkdirSync(run, { recursive: true })
  const manifest = (/** @type {string} */ kind) =>
    writeFileSync(
      path.join(run, 'manifest.json'),
      JSON.stringify({
        schema_version: 2,
        kind: 'run',
        status: 'interrupted',
        experiment: { name: 'read-hot', settings: {}, factors: {} },
        preset: 'quick',
        seed: 1,
        origin: { kind }
      })
    )
  manifest('board')
  assert.match(
    (await place.stevec(['run', '--resume', path.basename(run), '--origin', 'local'])).stderr,
    /the origin of this run was board, so it cannot be resumed at local/
  )
  manifest('ssh')
  assert.match((await place.stevec(['run', '--resume', path.basename(run)])).stderr, /repeat its address with --origin ssh:/)
})

test('a trial keeps samples of CPU and memory of a local origin\'s processes and their children', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-samples-'))
  const child = spawn('sh', ['-c', 'while :; do :; done & wait'], { detached: true })
  const pid = /** @type {number} */ (child.pid)
  t.after(() => {
    process.kill(-pid, 'SIGKILL')
    rmSync(directory, { recursive: true })
  })
  const identity = { name: 'busy', pid, start_ticks: /** @type {number} */ (startTicks(pid)) }
  let samples = 0
  const kept = keepOriginSamples({
    sample: (onSample) => sampleProcesses(() => [identity], (sample) => {
      samples += 1
      onSample(sample)
    })
  }, directory)
  await waitUntil(() => samples >= 2, 60_000)
  const { cpu_ratio_mean: cpuRatio, ...facts } = await kept.stop() ?? {}
  assert.deepEqual(facts, { rows: samples, problem: null })
  assert.ok(Number(cpuRatio) >= 0 && Number(cpuRatio) <= 1)
  const [header, ...rows] = gunzipSync(readFileSync(path.join(directory, 'origin.csv.gz')))
    .toString().trimEnd().split('\n')
  assert.equal(header, 'time_us,cpu_ratio,memory_used_bytes,temperature_c,received_bytes,sent_bytes')
  for (const [timeUs, cpu, memory, ...rest] of rows.map((row) => row.split(','))) {
    assert.ok(Math.abs(Number(timeUs) / 1e6 - Date.now() / 1000) < 60)
    assert.ok(Number(cpu) > 0 && Number(cpu) <= 1, cpu)
    assert.ok(Number(memory) > 100_000, memory)
    assert.deepEqual(rest, ['', '', ''])
  }
})

test('sampling fails if a process of the origin has ended', async () => {
  await assert.rejects(
    sampleProcesses(() => [{ name: 'the wiki', pid: 2 ** 22 + 1, start_ticks: 1 }], () => {}).ended,
    /the wiki has ended/
  )
})
