import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { createSandbox, json, trialsOf } from '../helper.js'

test('a run of crawlers counts people apart, says what crawlers got, and judges what it expects', {
  skip: process.getuid?.() === 0 ? false : 'needs root, to limit the CPU'
}, async () => {
  const sandbox = await createSandbox()
  const given = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/experiments/crawlers.json'), 'utf8'))
  const small = { pages: 20, revisions: 5, requests: 80, rate_per_s: 20, edit_ratio: 0.1, duration_max_s: 5 }
  const file = sandbox.experiment({
    expectations: given.expectations,
    settings: { ...given.settings, ...small },
    factors: { crawlers: { off: { crawl_times_capacity: 0 }, on: { crawl_times_capacity: 2 } } },
    presets: { quick: { repetitions: 2 } }
  })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file, '--profile', 'quarter-core'])
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  const { crawl_capacity_per_s: capacityPerS } = json(path.join(directory, 'manifest.json'))
  assert.ok(capacityPerS > 0, `${capacityPerS}: it is measured at the start`)
  for (const { cell, valid, invalid_reasons: reasons, requests_failed: failed, crawl } of trialsOf(directory)) {
    assert.deepEqual([valid, reasons, failed], [true, [], 0])
    if (cell.crawlers === 'off') assert.equal(crawl, undefined)
    else {
      assert.ok(crawl.k6.exit_code === 0 && crawl.statuses[200] > 0, JSON.stringify(crawl))
      assert.deepEqual([crawl.capacity_per_s, crawl.asked_per_s], [capacityPerS, Math.ceil(2 * capacityPerS)])
      assert.ok(crawl.sent_per_s > 0 && crawl.sent_times_capacity > 0, JSON.stringify(crawl))
    }
  }
  assert.deepEqual(sandbox.processes(), [])
  const report = await sandbox.stevec(['report', 'latest'])
  assert.equal(report.exitCode, 0, report.stdout + report.stderr)
  assert.doesNotMatch(report.stdout, /invalid/, 'the report finds the files whole, too')
  sandbox.remove()
})
