import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { ROOT } from '@stevec/harness/config'
import { mongodUri } from '@stevec/harness/mongod'
import { killGroup, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { entrancesOf } from '../src/stack/doors.js'
import { readState } from '../src/stack/state.js'
import { startDoors } from './doors.js'
import { createSandbox, json, samplesOf, trialsOf } from './helper.js'

const WITHIN_MS = 60_000
const none = json(path.join(ROOT, 'loadgen/profiles/none.json'))

test('clients of two edges meet two caches, whose purges and logs are all there', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment({
    settings: {
      ...{ door: 'cached', policy: 'purge-tag', pages: 8, page_size_chars: 500, edges: 2 },
      ...{ requests: 400, vus: 4, connection_reuse: true }
    },
    factors: { edit_ratio: [0, 0.1] },
    presets: { quick: { repetitions: 1 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  for (const { name, valid, invalid_reasons: reasons, settings, counter, pops, log_lines: lines, ...trial } of
    trialsOf(directory)) {
    assert.ok(valid, reasons.join())
    assert.deepEqual(Object.keys(pops).sort(), ['EDA', 'EDB'])
    assert.equal(pops.EDA + pops.EDB, 400)
    assert.deepEqual(
      [lines.edge, lines['edge-2'], lines.origin],
      [pops.EDA, pops.EDB, 400 - trial.served_by_cache]
    )
    assert.deepEqual(trial.cold_proof.observed, ['MISS', 'HIT', 'MISS', 'MISS', 'HIT', 'MISS'])
    const read = (/** @type {string} */ log) =>
      gunzipSync(readFileSync(path.join(directory, 'trials', name, `${log}.log.gz`))).toString().trim().split('\n')
    assert.deepEqual([read('edge').length, read('edge-2').length], [pops.EDA, pops.EDB])
    if (settings.edit_ratio === 0) {
      assert.equal(counter.requests, 16, 'each edge fetches each page once')
    } else {
      const { calls, failed, tags, confirmed } = trial.purges
      assert.equal(failed, 0)
      assert.equal(confirmed.edge + confirmed['edge-2'], calls)
      assert.ok(confirmed.edge > 0 && confirmed['edge-2'] > 0 && tags > 0)
    }
    const processes = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'processes.csv.gz'))).toString()
    for (const process of ['nginx edge', 'nginx edge 2']) assert.match(processes, new RegExp(`,${process},edge,`))
  }
})

test('each edge has links of its own, for all generators and for the background', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const [clientRttMs, originRttMs] = [30, 50]
  const far = path.join(sandbox.directory, 'far.json')
  writeFileSync(far, JSON.stringify({
    ...none, name: 'far', links: { ...none.links, client_edge_rtt_ms: clientRttMs, edge_origin_rtt_ms: originRttMs }
  }))
  const file = sandbox.experiment({
    settings: {
      ...{ door: 'cached', policy: 'ttl', pages: 8, page_size_chars: 500, edges: 2, generators: 2 },
      ...{ requests: 200, vus: 4, background_vus: 2, connection_reuse: true }
    },
    factors: { protocol: ['http'] }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file, '--profile', far, '--json'])
  assert.equal(exitCode, 0, stdout + stderr)
  const { directory } = JSON.parse(stdout)
  const [trial] = trialsOf(directory)
  assert.ok(trial.valid, trial.invalid_reasons.join())
  assert.ok(trial.overlap.proved)
  assert.equal(trial.generators.length, 2)
  const sent = trial.requests_sent + trial.background.requests_sent
  assert.deepEqual([trial.log_lines.edge + trial.log_lines['edge-2'], trial.requests_sent], [sent, 200])
  assert.ok(trial.log_lines.edge > 0 && trial.log_lines['edge-2'] > 0)

  // No response is faster than the links that it crossed. The background fills the caches before the probe starts.
  const folder = path.join(directory, 'trials', trial.name)
  const [probe, background] = [samplesOf(folder), samplesOf(folder, 'background.csv.gz')]
  for (const { cacheStatus, durationMs, pop } of [...probe, ...background]) {
    const least = clientRttMs + (cacheStatus === 'MISS' ? originRttMs : 0)
    assert.ok(durationMs >= least, `${cacheStatus} of ${pop} in ${durationMs} ms`)
  }
  const popsOf = (/** @type {typeof probe} */ samples) => [...new Set(samples.map(({ pop }) => pop))].sort()
  const missed = [...probe, ...background].filter(({ cacheStatus }) => cacheStatus === 'MISS')
  const pops = [probe, background, missed].map(popsOf)
  assert.deepEqual(pops, Array(3).fill(['EDA', 'EDB']))
})

describe('a stack with two edges', () => {
  /** @type {Awaited<ReturnType<typeof startDoors>>} */
  let stack
  /** @type {import('../src/stack/state.js').StackState} */
  let state
  /** @type {MongoClient} */
  let client
  before(async () => {
    const policy = { CACHE_POLICY: 'purge-tag', PURGE_REPEAT_AFTER_S: '1', CACHE_CDN_TTL_S: '86400' }
    stack = await startDoors(policy, { edges: 2 })
    state = /** @type {typeof state} */ (readState(stack.directory))
    client = await new MongoClient(mongodUri(state.ports.mongod)).connect()
  })
  after(async () => {
    await client.close()
    await stack.stop()
  })

  /** @param {string} text */
  const edit = (text) => request(`http://127.0.0.1:${state.ports.wiki}/wiki/a`, {
    method: 'POST', headers: { 'content-type': 'text/markdown' }, body: text
  })
  /** @param {number} index */
  async function read (index) {
    const { url, headers: { host } } = entrancesOf(state.doors.cached)[index]
    const { headers, body } = await request(`${url}/wiki/a`, { headers: { host } })
    return `${headers['cf-cache-status']} ${/text \d/.exec(body)?.[0]}`
  }
  const waiting = (filter = {}) => client.db().collection('queue').countDocuments({ kind: 'purge', ...filter })
  const unconfirmed = () => client.db().collection('queue').distinct('content.api', { kind: 'purge', done_up_to: '' })
  const purged = () => waitUntil(async () => (await unconfirmed()).length === 0, WITHIN_MS)

  test('answers no reader with an old text after the purge is confirmed at both', async () => {
    for (const text of ['text 1', 'text 2']) {
      await edit(text)
      // Each purge is repeated; a repetition between two reads would empty the cache again.
      assert.ok(await waitUntil(async () => await waiting() === 0, WITHIN_MS))
      for (const index of [0, 1]) {
        assert.deepEqual([await read(index), await read(index)], [`MISS ${text}`, `HIT ${text}`])
      }
    }
  })

  test('purges the living edge at once while the other is dead, and the dead one once it is back', async (t) => {
    const index = state.processes.findIndex(({ name }) => name === 'nginx edge 2')
    const dead = state.processes[index]
    const [command, ...args] = readFileSync(`/proc/${dead.pid}/cmdline`, 'utf8').replace(/^nginx: master process /, '')
      .split('\0')[0].split(' ').filter(Boolean)
    await killGroup(dead)
    for (const text of ['text 3', 'text 4', 'text 5']) {
      assert.equal((await edit(text)).status, 200)
      assert.ok(await waitUntil(async () => await read(0) === `HIT ${text}`, WITHIN_MS))
    }
    assert.deepEqual(await unconfirmed(), [`${state.controls['edge-2'].url}/client/v4`])

    const log = path.join(stack.directory, 'edge-2/control.log')
    const before = readFileSync(log, 'utf8').length
    const back = await startProcess({ name: dead.name, command, args, logFile: path.join(stack.directory, 'back.log') })
    t.after(() => stopProcess(back))
    assert.ok(await purged())
    const calls = readFileSync(log, 'utf8').slice(before).trim().split('\n').map((line) => JSON.parse(line))
    assert.ok(calls.some(({ kind, items, status }) => kind === 'tags' && items > 0 && status === 200))
    assert.equal(await read(1), 'MISS text 5')
  })
})
