import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createSandbox, trialsOf } from '../helper.js'

describe('a run of every cache policy', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {string} */
  let directory
  /** @type {Record<string, any>[]} */
  let trials
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      name: 'policy',
      settings: {
        pages: 10,
        page_size_chars: 500,
        requests: 400,
        rate_per_s: 100,
        model: 'open',
        vus: 50,
        edit_ratio: 0.05,
        ttl_s: 1,
        stale_while_revalidate_s: 60,
        duration_max_s: 4,
        bound: 'either'
      },
      factors: {
        policy: {
          ...Object.fromEntries(
            ['ttl', 'ttl-swr', 'purge-url', 'purge-tag', 'revalidate', 'no-store']
              .map((policy) => [policy, { policy, door: 'cached' }])
          ),
          'purge-local': { policy: 'purge-url', door: 'local' }
        }
      }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file, '--report'])
    assert.equal(exitCode, 0, stdout + stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => sandbox.remove())

  const of = (/** @type {string} */ policy) =>
    /** @type {Record<string, any>} */ (trials.find(({ cell }) => cell.policy === policy))
  const samples = (/** @type {string} */ policy) =>
    gunzipSync(readFileSync(path.join(directory, 'trials', of(policy).name, 'samples.csv.gz')))
      .toString().trim().split('\n').slice(1)
      .map((row) => {
        const [, , page, method, , , status, , , revision] = row.split(',')
        return { method, status, text: `${page} ${revision}` }
      })

  test('keeps the law of the counter under each, with what the edge sent on its own', () => {
    assert.equal(trials.length, 7)
    for (const {
      cell,
      valid,
      invalid_reasons: reasons,
      requests_sent: sent,
      served_by_cache: served,
      counter,
      refreshes
    } of trials) {
      assert.ok(valid, `${cell.policy}: ${reasons}`)
      assert.equal(sent - served + refreshes, counter.requests, cell.policy)
      assert.equal(refreshes > 0, cell.policy === 'ttl-swr', `${cell.policy}: ${refreshes} refreshes`)
    }
  })

  test('proves caches cold that keep pages, and that nothing is kept where nothing may be', () => {
    for (const policy of ['ttl', 'ttl-swr', 'purge-url', 'purge-tag']) {
      assert.deepEqual(of(policy).cold_proof, { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2 })
    }
    for (const policy of ['revalidate', 'no-store', 'purge-local']) {
      assert.deepEqual(of(policy).cold_proof, {
        cold: true,
        observed: ['BYPASS', 'BYPASS', 'BYPASS'],
        origin_requests: 3
      })
      assert.equal(of(policy).counter.requests, of(policy).requests_sent)
    }
  })

  test('counts the purges of a trial, each edit told twice, in URLs or in tags', () => {
    for (const policy of ['ttl', 'ttl-swr', 'revalidate', 'no-store']) assert.equal(of(policy).purges, null)
    for (const [policy, named, other] of [['purge-url', 'urls', 'tags'], ['purge-tag', 'tags', 'urls']]) {
      const { purges, writes_sent: writes } = of(policy)
      assert.ok(writes > 5)
      assert.equal(purges.told, true)
      assert.deepEqual([purges.failed, purges.hosts, purges[other]], [0, 0, 0])
      assert.ok(purges.calls >= 2 && purges.calls <= 2 * writes, `${purges.calls} calls for ${writes} edits`)
      assert.ok(purges[named] > writes, `${purges[named]} ${named} for ${writes} edits`)
    }
  })

  test('has the edge give up a page with its edit, and keep the new one', () => {
    for (const policy of ['purge-url', 'purge-tag']) {
      const written = new Set(samples(policy).filter(({ method }) => method === 'POST').map(({ text }) => text))
      assert.ok(samples(policy).some(({ status, text }) => status === 'HIT' && written.has(text)), policy)
    }
    assert.match(readFileSync(path.join(directory, 'report/tables/policies.csv'), 'utf8'), /^purge-tag,cached/m)
  })

  test('leaves no token in what it keeps', () => {
    for (const file of ['manifest.json', ...trials.map(({ name }) => `trials/${name}/trial.json`)]) {
      assert.doesNotMatch(readFileSync(path.join(directory, file), 'utf8'), /token|Bearer/i)
    }
  })
})
