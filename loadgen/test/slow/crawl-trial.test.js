import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { createSandbox, trialsOf } from '../helper.js'

test('a run of crawlers counts people apart, says what crawlers got, and judges what it expects', async () => {
  const sandbox = await createSandbox()
  const given = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/experiments/crawlers.json'), 'utf8'))
  const small = { pages: 20, revisions: 5, requests: 80, rate_per_s: 20, edit_ratio: 0.1, duration_max_s: 5 }
  const file = sandbox.experiment({
    expectations: given.expectations,
    settings: { ...given.settings, ...small },
    factors: { crawlers: { off: { crawl_per_s: 0 }, on: { crawl_per_s: 30 } } },
    presets: { quick: { repetitions: 2 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  for (const { cell, valid, invalid_reasons: reasons, requests_failed: failed, crawl } of trialsOf(directory)) {
    assert.deepEqual([valid, reasons, failed], [true, [], 0])
    if (cell.crawlers === 'off') assert.equal(crawl, undefined)
    else assert.ok(crawl.k6.exit_code === 0 && crawl.statuses[200] > 0, JSON.stringify(crawl))
  }
  assert.deepEqual(sandbox.processes(), [])
  const report = await sandbox.stevec(['report', 'latest'])
  assert.equal(report.exitCode, 0, report.stdout + report.stderr)
  sandbox.remove()
})
