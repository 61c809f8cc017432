import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { WIKI_ARGUMENTS } from '@stevec/wiki-app/start'
import { readCounters } from '../src/lab/counter.js'
import { problemsOfTotals, readTotals, totalsBetween } from '../src/lab/wiki-totals.js'
import { missingForWikiShares } from '../src/stack/wiki-limits.js'
import { createSandbox, json, samplesOf, STARTED_WITHIN_MS, trialsOf } from './helper.js'

test('clients in groups create pages with a picture and read them back, from two wikis and three mongods', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = sandbox.experiment({
    settings: {
      ...{ door: 'source', pages: 3, page_size_chars: 500, edit_ratio: 1, edit: 'create-get', picture: true },
      ...{ requests: 300, vus: 6, groups: { vus: 2, every_s: 1 }, connection_reuse: true, wiki_cpu_share: 0.3, database: 'replica-set-3' }
    },
    factors: { wikis: [2] },
    presets: { quick: { repetitions: 1 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const trials = trialsOf(directory)
  assert.deepEqual(trials.map(({ settings }) => settings.wikis).sort(), [2])
  for (const trial of trials) {
    const { name, valid, invalid_reasons: reasons, settings, counter, wiki_totals: totals, warm_up: warmUp } = trial
    assert.ok(valid, reasons.join())
    assert.equal(counter.requests, 600)
    assert.deepEqual([counter.reads, counter.writes], [300, 300])
    assert.deepEqual(totals.sum, counter, 'the totals that no reading resets')
    assert.equal(totals.each.length, settings.wikis)
    assert.equal(new Set(totals.each.map((/** @type {any} */ { epoch }) => epoch)).size, settings.wikis)
    for (const { epoch, epoch_after: after, count } of totals.each) {
      assert.ok(count.requests > 0)
      assert.equal(after, epoch)
    }
    const samples = samplesOf(path.join(directory, 'trials', name))
    assert.equal(new Set(samples.map(({ page }) => page)).size, 300)
    assert.ok(samples.every(({ method, status }) => status === (method === 'POST' ? 201 : 200)))
    const firstUs = Math.min(...samples.map(({ sentAtUs }) => sentAtUs))
    assert.ok(samples.filter(({ sentAtUs }) => sentAtUs - firstUs < 900_000).length <= 2 * 2 * 50, 'one group begins')
    assert.ok(warmUp.requests >= 3000 * settings.wikis, `${warmUp.requests} requests warmed ${settings.wikis}`)
    const rows = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'processes.csv.gz'))).toString()
      .trim().split('\n').slice(1).map((row) => row.split(','))
    const database = rows.filter(([, , part]) => part === 'database').map(([, process]) => process)
    assert.deepEqual([...new Set(database)].sort(), ['mongod', 'mongod 2', 'mongod 3'])
    const wikis = rows.filter(([, , part]) => part === 'wiki')
    const names = [...new Set(wikis.map(([, process]) => process))].sort()
    assert.deepEqual(names, ['wiki', 'wiki 2'].slice(0, settings.wikis))
    for (const name of names) {
      assert.ok(wikis.some(([, process, , cores]) => process === name && Number(cores) > 0), `${name} did nothing`)
    }
  }
  assert.equal(json(path.join(directory, 'manifest.json')).wiki_shares_missing, missingForWikiShares())
})

test('totals of two wikis add up to the counter, and name the wiki that was killed and started again', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-totals-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const mongod = await startMongod()
  t.after(mongod.stop)
  const ports = await freePorts(2)
  t.after(() => releasePorts(ports))
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  /** @param {number} index */
  const start = async (index) => {
    const wiki = await startProcess({
      name: `wiki ${index + 1}`,
      command: process.execPath,
      args: [...WIKI_ARGUMENTS],
      logFile: path.join(directory, `wiki-${index}.log`),
      env: { PATH: process.env.PATH, PORT: String(ports[index]), MONGODB_URI: mongod.uriFor('totals') }
    })
    t.after(() => stopProcess(wiki))
    const isReady = () => request(`${urls[index]}/healthz`).then(({ status }) => status === 200, () => false)
    assert.ok(await waitUntil(isReady, STARTED_WITHIN_MS), `wiki ${index + 1} does not answer`)
    return wiki
  }
  const wikis = [await start(0), await start(1)]
  const visit = async (/** @type {number[]} */ ...each) => {
    for (const [index, times] of each.entries()) {
      for (let time = 0; time < times; time++) await request(`${urls[index]}/wiki/page`)
    }
  }

  await visit(4, 4)
  await readCounters(urls)
  const before = await readTotals(urls)
  await visit(3, 2)
  const counter = await readCounters(urls)
  const totals = totalsBetween(before, await readTotals(urls))
  assert.deepEqual(totals?.each.map((one) => one?.count?.requests), [3, 2])
  assert.deepEqual(totals?.sum, counter)
  assert.deepEqual(problemsOfTotals(totals, counter), [])

  const beforeKill = await readTotals(urls)
  await visit(3, 2)
  process.kill(wikis[1].pid, 'SIGKILL')
  await wikis[1].exited
  await assert.rejects(readCounters(urls), /^Error: wiki 2 of 2 does not answer: GET .* ECONNREFUSED/)
  await start(1)
  await visit(0, 1)
  const after = totalsBetween(beforeKill, await readTotals(urls))
  assert.deepEqual(after?.each.map((one) => one?.count?.requests), [3, undefined])
  assert.equal(after?.sum, null)
  assert.deepEqual(problemsOfTotals(after, await readCounters(urls)), [
    'wiki 2 lost its count: it, or one of its processes, was started again during the trial'
  ])
})
