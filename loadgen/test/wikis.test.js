import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { missingForWikiShares } from '../src/stack/wiki-limits.js'
import { createSandbox, json, samplesOf, trialsOf } from './helper.js'

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
  for (const { name, valid, invalid_reasons: reasons, settings, counter, warm_up: warmUp } of trials) {
    assert.ok(valid, reasons.join())
    assert.equal(counter.requests, 600)
    assert.deepEqual([counter.reads, counter.writes], [300, 300])
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
