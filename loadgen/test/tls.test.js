import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import tls from 'node:tls'
import { request } from '@stevec/harness/request'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { createGenerators } from '../src/lab/generator.js'
import { extractSamples } from '../src/lab/samples.js'
import { contradiction } from '../src/lab/contradiction.js'
import { readState } from '../src/stack/state.js'
import { startDoors } from './doors.js'
import { createSandbox, trialsOf } from './helper.js'

const REQUESTS = 200

test('trials by HTTP/1.1 and by HTTP/2 over TLS are valid, and each edit and read is counted', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment({
    settings: {
      ...{ door: 'cached', policy: 'purge-url', pages: 8, page_size_chars: 500, edit_ratio: 0.1 },
      ...{ requests: REQUESTS, vus: 4, connection_reuse: true }
    },
    factors: { protocol: ['https', 'http2'] },
    presets: { quick: { repetitions: 1 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const trials = trialsOf(directory)
  assert.deepEqual(trials.map(({ settings }) => settings.protocol).sort(), ['http2', 'https'])
  for (const { valid, invalid_reasons: reasons, failures, counter, log_lines: lines, purges, ...trial } of trials) {
    assert.ok(valid, reasons.join())
    assert.deepEqual(failures, {})
    assert.equal(trial.requests_sent, REQUESTS)
    assert.deepEqual([lines.edge, lines.origin], [REQUESTS, REQUESTS - trial.served_by_cache])
    assert.equal(counter.writes, trial.writes_sent)
    assert.ok(trial.writes_sent > 0 && trial.served_by_cache > 0)
    assert.equal(purges.failed, 0)
    assert.deepEqual(trial.cold_proof.observed, ['MISS', 'HIT', 'MISS'])
  }
  const manifest = readFileSync(path.join(directory, 'manifest.json'), 'utf8')
  assert.match(manifest, /"https:\/\/wiki\.localhost/)
  assert.doesNotMatch(manifest, /certificate\.pem/)
})

test('doors with TLS are verified, offer HTTP/2 only if asked, and show a client that chose otherwise', async (t) => {
  const stack = await startDoors({}, { protocol: 'https', links: true })
  t.after(stack.stop)
  const { doors } = /** @type {import('../src/stack/state.js').StackState} */ (readState(stack.directory))
  const caFile = /** @type {string} */ (doors.cached.ca_file)
  for (const { url } of Object.values(doors)) {
    assert.equal((await request(`${url}/healthz`, { caFile })).status, 200)
    await assert.rejects(request(`${url}/healthz`), /self-signed certificate/)
    const { hostname, port } = new URL(url)
    const socket = tls.connect({
      ...{ host: '127.0.0.1', port: Number(port), servername: hostname },
      ...{ ca: readFileSync(caFile), ALPNProtocols: ['h2', 'http/1.1'] }
    })
    await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject))
    assert.deepEqual([socket.alpnProtocol, socket.getProtocol()], ['http/1.1', 'TLSv1.3'])
    socket.destroy()
  }
  assert.equal(statSync(path.join(path.dirname(caFile), 'key.pem')).mode & 0o777, 0o600)

  const generators = createGenerators(new AbortController().signal)
  t.after(generators.stop)
  const plan = {
    ...{ seed: 1, stream: 1, requests: 3, pages: 1, page_size_chars: 100, edit_ratio: 0 },
    ...{ popularity: /** @type {const} */ ('uniform'), edit_popularity: null }
  }
  const settings = { ...DEFAULT_SETTINGS, protocol: /** @type {const} */ ('http2'), requests: 3 }
  const { url } = doors.source
  const k6 = await generators.start({
    ...{ name: 'k6', directory: stack.directory },
    settings: { ...settings, url, ca_file: caFile, plan, mark: 't1', until_url: null }
  })
  assert.equal((await k6.done).exit_code, 0)
  const { failures } = await extractSamples({
    sources: [{ file: k6.csvFile }], target: path.join(stack.directory, 'samples.csv.gz'), plan
  })
  assert.deepEqual(failures, { 'wrong-protocol': 3 })
})

test('TLS is for the doors of the lab\'s own edge, and contradicts another cache', () => {
  const asked = /** @type {const} */ ({ door: 'cached', protocol: 'https' })
  const settings = { ...DEFAULT_SETTINGS, ...asked }
  assert.equal(contradiction(settings), null)
  assert.match(contradiction({ ...settings, cache: 'varnish' }) ?? '', /^protocol=https .* not with cache=varnish$/)
})
