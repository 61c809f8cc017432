import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { boardLogs, boardReady, boardSsh, onBoard } from '@stevec/arm-image/emulator'
import { startMongod } from '@stevec/harness/mongod'
import { waitUntil } from '@stevec/harness/processes'
import { json, trialsOf } from '../helper.js'
import { sampleOrigin } from '@stevec/arm-image/origin-sample'
import { ANY_BOARD, skipReason, switchOn, writePage } from './boards.js'

const SAMPLES = 3
const PATIENCE_MS = 600_000

test('virt: the root filesystem boots without a failed unit, reports a missing database, ' +
  'and serves the wiki once the database runs', { skip: skipReason('virt', ANY_BOARD) }, async (t) => {
  const { sandbox, directory, state, port, onProgress } = await switchOn(t, 'virt')
  await boardReady(directory, { path: '/healthz', onProgress })

  const waiting = await fetch(`${state.url}/readyz`)
  assert.equal(waiting.status, 503)
  assert.match(String((await waiting.json()).detail), /database/i)
  const mongod = await startMongod({ port })
  t.after(mongod.stop)
  await boardReady(directory, { onProgress })

  await writePage(state.url, '# Hello from ARM')
  const read = await fetch(`${state.url}/wiki/Board`)
  assert.equal(read.status, 200)
  assert.match(await read.text(), /Hello from ARM<\/h2>/)

  await waitUntil(
    () => onBoard(directory, ['systemctl is-system-running || true']).trim() === 'running',
    PATIENCE_MS,
    2_000
  )
  assert.equal(onBoard(directory, ['systemctl --failed --no-legend --plain']), '')
  assert.equal(onBoard(directory, ['uname -m']).trim(), 'armv7l')
  assert.ok(
    Number(onBoard(directory, ['df --output=size --block-size=1 / | tail -1'])) > 1.8 * 1024 ** 3,
    'the first boot has grown the filesystem'
  )
  assert.deepEqual(onBoard(directory, ['ls /etc/ssh/ssh_host_*_key']).trim().split('\n'), [
    '/etc/ssh/ssh_host_ed25519_key'
  ])
  // systemd assigns a user id of this range for as long as the service runs (systemd.exec(5), DynamicUser=).
  const uid = Number(onBoard(directory, ['ps -o uid= -C node']))
  assert.ok(uid >= 61_184 && uid <= 65_519, `the wiki runs as user ${uid}`)

  const requests = boardLogs(directory)
    .trimEnd().split('\n')
    .map((row) => JSON.parse(row))
    .filter(({ uri }) => uri === '/wiki/Board')
  assert.deepEqual(
    requests.slice(-2).map(({ method, status }) => [method, status < 300]),
    [['POST', true], ['GET', true]]
  )

  /** @type {import('@stevec/arm-image/origin-sample').OriginSample[]} */
  const samples = []
  const sampler = sampleOrigin({
    command: 'ssh',
    args: boardSsh(directory),
    onSample: (sample) => samples.push(sample)
  })
  await Promise.race([sampler.ended, waitUntil(() => samples.length >= SAMPLES, PATIENCE_MS)])
  await sampler.stop()
  for (const { cpu_ratio: cpu, memory_used_bytes: memory } of samples) {
    assert.ok(cpu >= 0 && cpu <= 1 && memory > 50e6 && memory < 1e9, `${cpu} ${memory}`)
  }
  t.diagnostic(`memory in use with an idle wiki: ${Math.round(samples[0].memory_used_bytes / 1e6)} MB`)

  await t.test('E1 runs on it: counts agree although its log is rotated; the report says it is emulated', async (t) => {
    const run = sandbox.start([
      'run', 'read-hot', '--preset', 'quick', '--repetitions', '1', '--origin', 'board', '--report'
    ])
    let ended = false
    const done = run.done.finally(() => { ended = true })
    await waitUntil(() => ended || run.output.stdout.includes('\ntrial 1 of '), PATIENCE_MS, 200)
    if (!ended) onBoard(directory, ['logrotate --force --state /run/stevec-test.state /etc/stevec/rotate.conf'])
    const { exitCode, stdout, stderr } = await done
    t.diagnostic(stdout)
    assert.equal(exitCode, 0, stderr)
    const result = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    const { origin } = json(path.join(result, 'manifest.json'))
    assert.deepEqual(
      [origin.kind, origin.emulated, origin.machine, origin.cores, origin.image_sha256],
      ['board', true, 'QEMU virt', 2, state.image_sha256]
    )
    const trials = trialsOf(result)
    assert.equal(trials.length, 4)
    for (const trial of trials) {
      assert.deepEqual([trial.valid, trial.origin_samples.problem], [true, null], trial.name)
      assert.equal(trial.log_lines.origin, trial.counter.requests)
    }
    assert.ok(trials.filter(({ door }) => door === 'source').every(({ origin_samples: { rows } }) => rows > 0))
    const report = readFileSync(path.join(result, 'report/index.html'), 'utf8')
    assert.match(report, /The origin was emulated\./)
    assert.ok(existsSync(path.join(result, 'report/figures/origin-load.svg')))
    assert.doesNotMatch(readFileSync(path.join(result, 'report/tables/cells.csv'), 'utf8'), /per_s/)
  })

  await t.test('its wiki purges the edge on this machine, and a trial kills and restarts its nginx', async (t) => {
    const file = sandbox.experiment({
      settings: {
        pages: 10,
        page_size_chars: 500,
        door: 'cached',
        model: 'open',
        vus: 20,
        rate_per_s: 5,
        requests: 1000,
        ttl_s: 2,
        duration_max_s: 40,
        bound: 'either'
      },
      factors: {
        policy: {
          'purge-url': { policy: 'purge-url', edit_ratio: 0.1 },
          down: { policy: 'ttl', fault: { kind: 'origin-down', from_s: 5, for_s: 10 } }
        }
      }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file, '--origin', 'board'])
    t.diagnostic(stdout)
    assert.equal(exitCode, 0, stderr)
    const result = path.join(sandbox.results, readdirSync(sandbox.results).filter((name) => name.includes('-mine-'))[0])
    const [purged, down] = ['purge-url', 'down'].map(
      (policy) => /** @type {Record<string, any>} */ (trialsOf(result).find(({ cell }) => cell.policy === policy))
    )
    assert.deepEqual([purged.valid, down.valid], [true, true])
    assert.ok(purged.counter.writes > 0)
    assert.ok(purged.purges.calls > 0 && purged.purges.failed === 0, JSON.stringify(purged.purges))
    assert.ok(down.requests_failed > 0, 'requests during the outage fail')
    assert.ok(down.fault.answering_at_us > down.fault.dead_at_us)
    assert.equal(down.origin_samples.problem, null)
  })

  // After the runs the board uses its own settings and its own database again.
  await boardReady(directory, { onProgress })
  assert.match(await (await fetch(`${state.url}/wiki/Board`)).text(), /Hello from ARM<\/h2>/)
  assert.equal(onBoard(directory, ['ls /run/stevec-lab.env /run/systemd/system/*/lab.conf 2>/dev/null || true']), '')
  assert.equal(onBoard(directory, ['systemctl --failed --no-legend --plain']), '')
})

test('bpim2u: the card itself boots, through SPL and U-Boot', {
  skip: skipReason('bpim2u', ['bpi-m2-ultra'])
}, async (t) => {
  const { directory, port, onProgress } = await switchOn(t, 'bpim2u')
  const mongod = await startMongod({ port })
  t.after(mongod.stop)
  await boardReady(directory, { onProgress })
  const said = readFileSync(path.join(directory, 'console.log'), 'latin1')
  for (const step of [
    /U-Boot SPL \d{4}\.\d\d/,
    /\nU-Boot \d{4}\.\d\d/,
    /extlinux\/extlinux\.conf/,
    /Starting kernel/
  ]) {
    assert.match(said, step)
  }
  assert.equal(onBoard(directory, ['systemctl --failed --no-legend --plain']), '')
  assert.match(onBoard(directory, ['cat /proc/device-tree/model']), /Banana Pi BPI-M2-Ultra/)
})
