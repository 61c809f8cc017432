import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadDefinition } from '../src/lab/definition.js'
import { expectedCounter, problemsOf } from '../src/lab/judge.js'
import { planRun } from '../src/lab/matrix.js'

const trialOf = (/** @type {string} */ experiment, /** @type {(trial: import('../src/lab/matrix.js').PlannedTrial) => boolean} */ wanted) =>
  /** @type {import('../src/lab/matrix.js').PlannedTrial} */ (planRun(loadDefinition(experiment, 'quick'), 1).trials.find(wanted))
const k6 = { exit_code: 0, dropped_iterations: 0, wall_s: 2, generator_cpu_s: 0.5, generator_cpu_share: 0.1, generator_limited: false }

describe('how many requests must reach the wiki', () => {
  const expected = (/** @type {string} */ experiment, /** @type {Record<string, unknown>} */ cell, caching = true, wallS = 2) =>
    expectedCounter({ trial: trialOf(experiment, (trial) => Object.entries(cell).every(([name, level]) => trial.cell[name] === level)), caching, k6: { ...k6, wall_s: wallS } })

  test('is known where theory gives it: all, each page once, each edit', () => {
    assert.equal(expected('read-hot', { door: 'source' }, false), 1000)
    assert.equal(expected('read-hot', { door: 'cached' }), 100)
    assert.equal(expected('write-vs-read-cached', { operation: 'write' }), 200)
    const mixed = trialOf('mixed-write', ({ cell }) => cell.workload === 'mixed')
    assert.equal(expectedCounter({ trial: { ...mixed, settings: { ...mixed.settings, bound: 'requests' } }, caching: false, k6 }), mixed.plan.plan.requests + mixed.plan.writes)
  })

  test('is not known when copies outlive no trial, when edits meet a cache, or when time or a background has a say', () => {
    assert.equal(expected('read-hot', { door: 'cached' }, true, 179.5), null)
    assert.equal(expected('mixed-write', { workload: 'mixed' }), null)
    assert.equal(expected('overload', { background_vus: 10 }, false), null)
    assert.equal(expected('overload', { background_vus: 0 }), null)
  })
})

describe('a trial', () => {
  const good = () => ({
    trial: trialOf('read-hot', ({ cell }) => cell.door === 'cached'),
    caching: true,
    coldProof: { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2 },
    k6,
    samples: { requests_sent: 1000, requests_failed: 0, requests_unanswered: 0, reads_sent: 1000, writes_sent: 0, served_by_cache: 900, cache_statuses: {}, duration_mean_ms: 1, duration_max_ms: 2, first_sent_at_us: 0, last_done_at_us: 1 },
    background: null,
    overlap: null,
    counter: { requests: 100, reads: 100, writes: 0 },
    logLines: { edge: 1000, origin: 100, local: 0 },
    logLinesExpected: { edge: 1000, origin: 100, local: 0 },
    wallS: 2.5,
    monotonicS: 2.5
  })

  test('whose counts add up has no problem', () => {
    assert.deepEqual(problemsOf(good()), [])
  })

  for (const [what, change, message] of /** @type {[string, object, RegExp][]} */ ([
    ['whose caches were warm', { coldProof: { cold: false, observed: ['HIT', 'HIT', 'MISS'], origin_requests: 1 } }, /not cold: the probe saw HIT, HIT, MISS/],
    ['whose k6 failed', { k6: { ...k6, exit_code: 107 } }, /k6 ended with exit code 107/],
    ['in which requests were lost', { samples: { ...good().samples, requests_sent: 999, reads_sent: 999 } }, /999 of 1000 planned[^]*999 requests sent ≠ 900 served by cache \+ 100/],
    ['in which somebody else asked', { counter: { requests: 101, reads: 101, writes: 0 } }, /the counter says 101, expected 100/],
    ['with requests that had no answer', { samples: { ...good().samples, served_by_cache: 899, requests_unanswered: 1 } }, /1 had no answer: whether they reached it is not known/],
    ['in which somebody else wrote', { counter: { requests: 100, reads: 99, writes: 1 } }, /0 writes sent ≠ 1 writes at the origin/],
    ['with a log that is too short', { logLines: { edge: 998, origin: 100, local: 0 } }, /the edge log has 998 lines, expected 1000/],
    ['during which the clock was set', { wallS: 3602.5 }, /the clock was set during the trial: it says 3602\.5 s have passed, but 2\.5 s have/],
    ['whose background came late', { overlap: { proved: false } }, /the background did not run before, during and after the probe/]
  ])) {
    test(`${what} is invalid, and says so`, () => {
      assert.match(problemsOf({ ...good(), ...change }).join('\n'), message)
    })
  }
})
