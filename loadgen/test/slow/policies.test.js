import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createSandbox, samplesOf, trialsOf } from '../helper.js'

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
            ['ttl', 'ttl-swr', 'purge-url', 'purge-tag', 'bounded', 'revalidate', 'no-store']
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
    samplesOf(path.join(directory, 'trials', of(policy).name))
      .map(({ page, method, cacheStatus, revision }) => ({ method, status: cacheStatus, text: `${page} ${revision}` }))

  test('satisfies the law of the counter under each policy, including the edge\'s own refreshes', () => {
    assert.equal(trials.length, 8)
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

  test('proves storing caches cold, and proves that under the other policies no cache stores a page', () => {
    for (const policy of ['ttl', 'ttl-swr', 'purge-url', 'purge-tag', 'bounded']) {
      const { warm_up: warmUp, ...proof } = of(policy).cold_proof
      assert.deepEqual(proof, { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2 })
      // With a lifetime of a second, a busy machine may have time for fewer reads.
      assert.ok(warmUp.requests >= 10 && warmUp.requests <= 100 && warmUp.origin_requests >= 10, policy)
    }
    for (const policy of ['revalidate', 'no-store', 'purge-local']) {
      assert.deepEqual(of(policy).cold_proof, {
        cold: true,
        observed: ['BYPASS', 'BYPASS', 'BYPASS'],
        origin_requests: 3,
        warm_up: null
      })
      assert.equal(of(policy).counter.requests, of(policy).requests_sent)
    }
  })

  test('counts the purges of a trial, by URL or by tag, with at most two calls for each edit', () => {
    for (const policy of ['ttl', 'ttl-swr', 'bounded', 'revalidate', 'no-store']) assert.equal(of(policy).purges, null)
    for (const [policy, named, other] of [['purge-url', 'urls', 'tags'], ['purge-tag', 'tags', 'urls']]) {
      const { purges, writes_sent: writes } = of(policy)
      assert.ok(writes > 5)
      assert.equal(purges.told, true)
      assert.deepEqual([purges.failed, purges.hosts, purges[other]], [0, 0, 0])
      assert.ok(purges.calls >= 2 && purges.calls <= 2 * writes, `${purges.calls} calls for ${writes} edits`)
      assert.ok(purges[named] > writes, `${purges[named]} ${named} for ${writes} edits`)
    }
  })

  test('makes the edge drop an edited page and store the new revision', () => {
    for (const policy of ['purge-url', 'purge-tag', 'bounded']) {
      const written = new Set(samples(policy).filter(({ method }) => method === 'POST').map(({ text }) => text))
      assert.ok(samples(policy).some(({ status, text }) => status === 'HIT' && written.has(text)), policy)
    }
    assert.match(readFileSync(path.join(directory, 'report/tables/policies.csv'), 'utf8'), /^purge-tag,cached/m)
  })

  test('writes no token into its results', () => {
    for (const file of ['manifest.json', ...trials.map(({ name }) => `trials/${name}/trial.json`)]) {
      assert.doesNotMatch(readFileSync(path.join(directory, file), 'utf8'), /token|Bearer/i)
    }
  })
})
