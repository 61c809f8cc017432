import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { OTHER_CACHES } from '@stevec/cdn/caches'
import { locateTool } from '@stevec/harness/tools/locate'
import { createSandbox, samplesOf, trialsOf } from '../helper.js'

/**
 * @param {string[]} args
 * @param {(directory: string, sandbox: Awaited<ReturnType<typeof createSandbox>>) => Promise<void> | void} look
 */
async function afterRun (args, look) {
  const sandbox = await createSandbox()
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', ...args])
  assert.equal(exitCode, 0, stdout + stderr)
  await look(path.join(sandbox.results, readdirSync(sandbox.results)[0]), sandbox)
  sandbox.remove()
}

describe('a run of origin-down', () => {
  test('kills and restarts the origin under load, and records every error and every request', async () => {
    await afterRun(['origin-down', '--only', 'policy=ttl,policy=ttl-sie'], async (directory, sandbox) => {
      for (const trial of trialsOf(directory)) {
        const { fault } = trial
        const samples = samplesOf(path.join(directory, 'trials', trial.name))
        const during = samples.filter(
          ({ sentAtUs, doneAtUs }) => sentAtUs > fault.dead_at_us && doneAtUs < fault.started_at_us
        )
        const after = samples.filter(({ sentAtUs }) => sentAtUs > fault.answering_at_us + 1e6)
        assert.deepEqual([trial.valid, trial.invalid_reasons], [true, []])
        assert.ok(fault.started_at_us - fault.kill_began_at_us >= 6e6)
        assert.equal(samples.filter(({ status }) => status === 0 || status >= 400).length, trial.requests_failed)
        assert.ok(during.length > 50 && after.length > 20, `${during.length} while it was dead, ${after.length} after`)
        // While the origin is dead, only the cache sends pages; afterwards every request succeeds.
        assert.ok(
          during.every(({ status, cacheStatus }) => status >= 500 || ['HIT', 'STALE', 'UPDATING'].includes(cacheStatus))
        )
        assert.ok(after.every(({ status }) => status === 200))
        if (trial.cell.policy === 'ttl') assert.ok(trial.requests_failed > 20)
        else assert.deepEqual([trial.requests_failed, trial.cache_statuses.STALE > 20], [0, true])
      }
      assert.deepEqual(sandbox.processes(), [])
      const report = await sandbox.stevec(['report', 'latest'])
      assert.equal(report.exitCode, 0, report.stdout + report.stderr)
    })
  })
})

describe('a run of flash-crowd', () => {
  test('sends the burst; one request reaches the origin with collapsing, and several without', async () => {
    await afterRun(['flash-crowd', '--only', 'moment=cold,protection=none,protection=collapsing'], (directory) => {
      const trials = trialsOf(directory)
      for (const trial of trials) {
        const samples = samplesOf(path.join(directory, 'trials', trial.name))
        const first = Math.min(...samples.map(({ sentAtUs }) => sentAtUs))
        const perSecond = new Array(8).fill(0)
        for (const { sentAtUs } of samples) perSecond[Math.floor((sentAtUs - first) / 1e6)] += 1
        assert.equal(trial.valid, true)
        assert.deepEqual([samples.length, trial.schedule.never_sent], [trial.requests_planned, 0])
        // The peak rate is 500 requests a second, the rate afterwards 10.
        assert.ok(Math.max(...perSecond) > 5 * perSecond[5], String(perSecond))
        // A miss takes the origin's delay plus the wiki's own time.
        assert.ok(
          samples.filter(({ cacheStatus }) => cacheStatus === 'MISS').every(({ durationMs }) => durationMs > 190)
        )
      }
      const reached = Object.fromEntries(trials.map(({ cell, counter }) => [cell.protection, counter.requests]))
      assert.equal(reached.collapsing, 1)
      assert.ok(reached.none > 5, String(reached.none))
    })
  })
})

describe('a run of wikipedia-like', () => {
  test('reads pages of many sizes by Zipf\'s law, and edits some pages', async () => {
    await afterRun(['wikipedia-like', '--repetitions', '1', '--only', 'popularity=zipf-0-9'], (directory) => {
      const [trial] = trialsOf(directory)
      const samples = samplesOf(path.join(directory, 'trials', trial.name))
      const reads = samples.filter(({ method }) => method === 'GET')
      const share = (/** @type {string} */ page) => reads.filter((sample) => sample.page === page).length / reads.length
      assert.equal(trial.valid, true)
      assert.ok(trial.writes_sent > 0)
      // 1 ÷ Σ k^−0.9 over 2000 pages is 0.084, the share of the first page; the tenth has an eighth of it.
      assert.ok(Math.abs(share('page-000001') - 0.084) < 0.02, String(share('page-000001')))
      assert.ok(Math.abs(share('page-000010') - 0.0106) < 0.007, String(share('page-000010')))
      assert.ok(new Set(reads.map(({ sizeBytes }) => sizeBytes)).size > 300)
    })
  })
})

describe('a run of caches', () => {
  test('puts the same load on nginx and every other installed cache, each proved cold before its trial', async (t) => {
    const others = OTHER_CACHES.filter((name) => locateTool(name) !== null)
    const folder = mkdtempSync(path.join(tmpdir(), 'stevec-caches-test-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'caches.json')
    const definition = JSON.parse(readFileSync(new URL('../../experiments/caches.json', import.meta.url), 'utf8'))
    // A rate at which a slow machine, too, sends each request on time.
    const settings = { ...definition.presets.quick.settings, pages: 50, rate_per_s: 50, requests: 500 }
    writeFileSync(
      file,
      JSON.stringify({
        ...definition,
        $schema: undefined,
        expectations: undefined,
        factors: { cache: ['nginx', ...others] },
        presets: { quick: { repetitions: 1, settings } }
      })
    )
    await afterRun([file], (directory, sandbox) => {
      const trials = trialsOf(directory)
      assert.deepEqual(trials.map(({ cell }) => cell.cache).sort(), ['nginx', ...others].sort())
      for (const trial of trials) {
        assert.deepEqual(
          [trial.cell.cache, trial.valid, trial.cold_proof.observed.join(), trial.cold_proof.warm_up],
          [trial.cell.cache, true, 'MISS,HIT,MISS', { requests: 100, origin_requests: 10 }]
        )
        assert.equal(trial.requests_sent - trial.served_by_cache, trial.counter.requests)
        assert.ok(trial.cache_statuses.HIT > 150, trial.cell.cache)
      }
      assert.deepEqual(sandbox.processes(), [])
    })
  })
})
