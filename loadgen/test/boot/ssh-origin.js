import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import path from 'node:path'
import { pipeline } from 'node:stream'
import test from 'node:test'
import { boardReady, onBoard } from '@stevec/arm-image/emulator'
import { startMongod } from '@stevec/harness/mongod'
import { json, trialsOf } from '../helper.js'
import { switchOn, writePage } from './boards.js'

/** ssh.test.js runs this file in a network namespace of its own, and sets these variables. */
const { SHARED_ADDRESS = '', SSH_SETTINGS = '' } = process.env

test('a run over ssh has counts that agree, and the machine serves its own wiki again afterwards', async (t) => {
  const { sandbox, directory, state, port, onProgress } = await switchOn(t, 'virt')
  const mongod = await startMongod({ port })
  t.after(mongod.stop)
  // mongod listens on loopback only; this proxy makes it reachable from the board, too.
  const shared = createServer((from) => {
    const to = connect(port, '127.0.0.1')
    pipeline(from, to, () => {})
    pipeline(to, from, () => {})
  }).listen(port, SHARED_ADDRESS)
  await once(shared, 'listening')
  t.after(() => { shared.close() })

  await boardReady(directory, { onProgress })
  await writePage(state.url, '# Its own')

  const [host, httpPort] = ['127.0.0.1', new URL(state.url).port]
  const origin = `ssh://${host}:${state.ssh_port}?http_port=${httpPort}`
  const MONGODB_URI = `mongodb://${SHARED_ADDRESS}:${port}/stevec?directConnection=true`
  const file = sandbox.experiment({ settings: { pages: 10, page_size_chars: 500, requests: 100, duration_max_s: 300 } })
  const run = (/** @type {Record<string, string>} */ extra) => sandbox.stevec(['run', file, '--origin', origin], extra)

  const nowhere = await run({})
  assert.deepEqual([nowhere.exitCode, /set MONGODB_URI/.test(nowhere.stderr)], [2, true], nowhere.stderr)
  // The host key is not known yet, and a run does not prompt for it.
  const unknown = await run({ MONGODB_URI })
  assert.deepEqual([unknown.exitCode, /Host key verification failed/.test(unknown.stderr)], [3, true], unknown.stderr)

  writeFileSync(
    path.join(SSH_SETTINGS, 'config'),
    `Host ${host}\n  IdentityFile ${path.join(directory, 'id_ed25519')}\n  StrictHostKeyChecking accept-new\n`,
    { mode: 0o600 }
  )
  const { exitCode, stdout, stderr } = await run({ MONGODB_URI })
  t.diagnostic(stdout)
  assert.equal(exitCode, 0, stderr)
  const result = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const { origin: facts } = json(path.join(result, 'manifest.json'))
  assert.deepEqual([facts.kind, facts.emulated, facts.cores, facts.image_sha256], ['ssh', true, 2, null])
  const trials = trialsOf(result)
  assert.deepEqual(trials.map(({ door, valid, counter }) => [door, valid, counter.requests]).sort(), [
    ['cached', true, 10],
    ['source', true, 100]
  ])
  for (const trial of trials) {
    assert.deepEqual([trial.log_lines.origin, trial.origin_samples.problem], [trial.counter.requests, null], trial.name)
  }

  await boardReady(directory, { onProgress })
  assert.match(await (await fetch(`${state.url}/wiki/Board`)).text(), /Its own<\/h2>/)
  assert.equal(onBoard(directory, ['ls /run/stevec-lab.env /run/systemd/system/*/lab.conf 2>/dev/null || true']), '')
  assert.equal(onBoard(directory, ['systemctl --failed --no-legend --plain']), '')
})
