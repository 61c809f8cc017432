import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadDefinition } from '../src/lab/definition.js'
import { wasCutOff } from '../src/lab/fault.js'
import { expectedCounter, problemsOf } from '../src/lab/judge.js'
import { planRun } from '../src/lab/matrix.js'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { lifetimeOf, storesPages } from '../src/lab/storing.js'
import { wikiSettingsFor } from '../src/lab/wiki-settings.js'

const trialOf = (
  /** @type {string} */ experiment,
  /** @type {(trial: import('../src/lab/matrix.js').PlannedTrial) => boolean} */ wanted
) =>
  /** @type {import('../src/lab/matrix.js').PlannedTrial} */ (
    planRun(loadDefinition(experiment, 'quick'), 1).trials.find(wanted)
  )
const NO_PURGES = { told: true, calls: 0, failed: 0, urls: 0, tags: 0, hosts: 0 }
const k6 = {
  exit_code: 0,
  message: null,
  wall_s: 2,
  generator_cpu_s: 0.5,
  generator_cpu_share: 0.1,
  stolen_cpu_share: 0
}

describe('the number of requests that must reach the wiki', () => {
  const expected = (
    /** @type {string} */ experiment,
    /** @type {Record<string, unknown>} */ cell,
    stores = true,
    wallS = 2
  ) =>
    expectedCounter({
      trial: trialOf(experiment, (trial) => Object.entries(cell).every(([name, level]) => trial.cell[name] === level)),
      stores,
      k6: { ...k6, wall_s: wallS }
    })

  test('is every request without a cache, one per page with a cache, and one per edit', () => {
    assert.equal(expected('read-hot', { door: 'source' }, false), 1000)
    assert.equal(expected('read-hot', { door: 'cached' }), 100)
    assert.equal(expected('write-vs-read-cached', { operation: 'write' }), 200)
    const mixed = trialOf('mixed-write', ({ cell }) => cell.workload === 'mixed')
    assert.equal(
      expectedCounter({ trial: { ...mixed, settings: { ...mixed.settings, bound: 'requests' } }, stores: false, k6 }),
      mixed.plan.plan.requests + mixed.plan.writes
    )
  })

  test('is null if timing decides it: expiry, edits at a cache, slow fetches, a background, a limit in time', () => {
    assert.equal(expected('read-hot', { door: 'cached' }, true, 179.5), null)
    assert.equal(expected('mixed-write', { workload: 'mixed' }), null)
    const slow = { trial: trialOf('at-once', ({ cell }) => cell.door === 'cached'), stores: true, k6 }
    assert.equal(expectedCounter({ ...slow, samples: { duration_max_ms: 4_999 } }), slow.trial.plan.distinct_pages)
    assert.equal(
      expectedCounter({ ...slow, samples: { duration_max_ms: 5_000 } }),
      null,
      'after 5 s, requests that waited for another\'s fetch ask the origin themselves'
    )
    assert.equal(expected('overload', { background_vus: 10 }, false), null)
    assert.equal(expected('overload', { background_vus: 0 }), null)
  })
})

test('policy and lifetime decide whether a cache stores pages; under purge policies only the edge does', () => {
  const kept = (/** @type {string[]} */ ...policies) =>
    policies.filter((policy) => ['cached', 'local'].some((door) => stores(door, policy)))
  const stores = (/** @type {any} */ door, /** @type {any} */ policy, ttl = 5, window = 5) =>
    storesPages(
      { url: '', path: '', caching: door !== 'source' },
      { door, policy, ttl_s: ttl, stale_while_revalidate_s: window, beyond_bound_s: 0 }
    )
  assert.deepEqual(kept('ttl', 'ttl-swr', 'purge-url', 'purge-tag', 'revalidate', 'no-store'), [
    'ttl', 'ttl-swr', 'purge-url', 'purge-tag'
  ])
  assert.deepEqual(
    [stores('cached', 'purge-tag'), stores('local', 'purge-tag'), stores('source', 'ttl'), stores('cached', 'ttl', 0)],
    [true, false, false, false]
  )
})

test('with bounded, a cache that follows no log stores pages for the lifetime beyond the bound, if there is one', () => {
  const found = (/** @type {'cached' | 'local' | 'source'} */ door, /** @type {number} */ beyondBoundS) => {
    const settings = { ...DEFAULT_SETTINGS, door, policy: /** @type {const} */ ('bounded'), beyond_bound_s: beyondBoundS }
    return [storesPages({ url: '', path: '', caching: door !== 'source' }, settings), lifetimeOf(settings)]
  }
  assert.deepEqual(found('local', 0), [false, 0])
  assert.deepEqual(found('local', 2), [true, 2])
  assert.deepEqual(found('cached', 2), [true, DEFAULT_SETTINGS.ttl_s])
  assert.equal(found('source', 2)[0], false)
  assert.equal(lifetimeOf({ ...DEFAULT_SETTINGS, door: 'local' }), DEFAULT_SETTINGS.ttl_s)
})

test('the wiki of a trial has the bound and the lifetime beyond it only with bounded', () => {
  const settings = { ...DEFAULT_SETTINGS, staleness_bound_ms: 700, beyond_bound_s: 3 }
  const bounded = wikiSettingsFor({ ...settings, policy: 'bounded' })
  assert.deepEqual([bounded.CACHE_BOUND_MS, bounded.CACHE_BEYOND_BOUND_S], ['700', '3'])
  assert.equal(wikiSettingsFor({ ...DEFAULT_SETTINGS, policy: 'bounded' }).CACHE_BEYOND_BOUND_S, '0')
  assert.ok(!('CACHE_BEYOND_BOUND_S' in wikiSettingsFor(settings)))
})

describe('a trial', () => {
  const whole = (/** @type {number} */ requests) =>
    ({ epoch: 'a', epoch_after: 'a', count: { requests, reads: requests, writes: 0 } })
  const good = () => ({
    trial: trialOf('read-hot', ({ cell }) => cell.door === 'cached'),
    stores: true,
    coldProof: { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2 },
    k6,
    samples: {
      requests_sent: 1000,
      requests_failed: 0,
      requests_unanswered: 0,
      statuses: {},
      reads_sent: 1000,
      writes_sent: 0,
      served_by_cache: 900,
      cache_statuses: {},
      duration_mean_ms: 1,
      duration_max_ms: 2,
      failures: {},
      schedule: null,
      first_sent_at_us: 0,
      last_done_at_us: 1
    },
    background: null,
    overlap: null,
    counter: { requests: 100, reads: 100, writes: 0 },
    refreshes: 0,
    purges: null,
    logLines: { edge: 1000, origin: 100, local: 0 },
    logLinesExpected: { edge: 1000, origin: 100, local: 0 },
    wallS: 2.5,
    monotonicS: 2.5
  })

  test('stays valid with requests without an answer, which may have reached the wiki or not', () => {
    const samples = { ...good().samples, requests_failed: 2, requests_unanswered: 2 }
    for (const requests of [98, 99, 100]) {
      const counter = { requests, reads: requests, writes: 0 }
      const logLines = { edge: 1000 - (100 - requests), origin: requests, local: 0 }
      const logLinesExpected = { edge: 1000, origin: requests, local: 0 }
      const found = { ...good(), samples, counter, logLines, logLinesExpected }
      assert.deepEqual(problemsOf(found), [], `${requests} at the wiki`)
    }
    for (const requests of [97, 101]) {
      assert.match(problemsOf({ ...good(), samples, counter: { requests, reads: requests, writes: 0 } }).join(), /≠/)
    }
  })

  test('of short links is invalid if one does not lead to its page, and valid if the wiki was at its limit', () => {
    const { trial, samples, ...rest } = good()
    const ofLinks = { ...trial, settings: { ...trial.settings, resource: /** @type {const} */ ('short-link') } }
    const problems = (/** @type {Partial<typeof samples>} */ found) =>
      problemsOf({ ...rest, trial: ofLinks, samples: { ...samples, ...found } })
    assert.deepEqual(problems({ statuses: { GET: { 302: 990, 429: 4, 503: 5, 0: 1 } }, requests_unanswered: 1 }), [])
    assert.deepEqual(problems({ statuses: { GET: { 302: 990, 404: 10 }, PUT: { 409: 2 } } }), [
      '12 short links did not lead to their pages, or could not be made: GET 404 × 10, PUT 409 × 2'
    ])
    assert.deepEqual(problems({ statuses: { GET: { 302: 1000 } }, failures: { 'wrong-answer': 1 } }), [
      '1 short link did not lead to its page, or could not be made: a redirect elsewhere, or none × 1'
    ])
  })

  test('of new short links is valid without a purge, as none is sent', () => {
    const { trial, samples, ...rest } = good()
    const counter = { requests: 100, reads: 99, writes: 1 }
    const found = {
      ...rest,
      samples: { ...samples, reads_sent: 999, writes_sent: 1 },
      counter,
      purges: { ...NO_PURGES, confirmed: { edge: 0, 'edge-2': 0 } }
    }
    const ofLinks = { ...trial, settings: { ...trial.settings, resource: /** @type {const} */ ('short-link') } }
    assert.deepEqual(problemsOf({ ...found, trial: ofLinks }), [])
    assert.deepEqual(problemsOf({ ...found, trial }), [
      '1 edit, but no purge reached the edge', '1 edit, but no purge reached edge, edge-2'
    ])
  })

  test('is invalid where a response came by another protocol', () => {
    const { trial, samples, ...rest } = good()
    const http2 = { ...trial, settings: { ...trial.settings, protocol: /** @type {const} */ ('http2') } }
    const wrong = { ...samples, failures: { 'wrong-protocol': 2 } }
    assert.deepEqual(problemsOf({ ...rest, trial: http2, samples: wrong }), [
      '2 responses did not come by http2 over TLS 1.3'
    ])
  })

  test('whose counts agree has no problem', () => {
    assert.deepEqual(problemsOf(good()), [])
    const totals = { each: [whole(60), whole(40)], sum: whole(100).count }
    assert.deepEqual(problemsOf({ ...good(), wikiTotals: totals }), [], 'two wikis')
    assert.deepEqual(problemsOf({ ...good(), wikiTotals: { each: [whole(60), null], sum: null } }), [], 'an older wiki')
  })

  for (const [what, change, message] of /** @type {[string, object, RegExp][]} */ ([
    [
      'whose caches were warm',
      { coldProof: { cold: false, observed: ['HIT', 'HIT', 'MISS'], origin_requests: 1 } },
      /not cold: the probe saw HIT, HIT, MISS/
    ],
    ['whose k6 failed', { k6: { ...k6, exit_code: 107, message: 'no file' } }, /k6 ended with exit code 107: no file/],
    [
      'in which requests were lost',
      { samples: { ...good().samples, requests_sent: 999, reads_sent: 999 } },
      /999 of 1000 planned[^]*999 requests sent ≠ 900 served by cache \+ 100/
    ],
    [
      'in which a wiki lost its count',
      { wikiTotals: { each: [whole(100), { epoch: 'a', epoch_after: 'b', count: null }], sum: null } },
      /^wiki 2 lost its count: it, or one of its processes, was started again during the trial$/
    ],
    [
      'whose totals of the wikis are not the counter',
      { wikiTotals: { each: [whole(60), whole(39)], sum: whole(99).count } },
      /^the totals of 2 wikis grew by 99 requests \(99 reads, 0 writes\), but the counter says 100 requests/
    ],
    [
      'in which another client sent a read',
      { counter: { requests: 101, reads: 101, writes: 0 } },
      /the counter says 101, expected 100/
    ],
    [
      'with an unanswered request',
      { samples: { ...good().samples, served_by_cache: 898, requests_unanswered: 1 } },
      /1 had no answer: whether they reached it is not known/
    ],
    [
      'in which another client sent an edit',
      { counter: { requests: 100, reads: 99, writes: 1 } },
      /0 writes sent ≠ 1 write at the origin/
    ],
    [
      'in which the edge logged a refresh that the counter lacks',
      { refreshes: 1 },
      /1000 requests sent \+ 1 of the edge's own ≠ 900 served by cache \+ 100/
    ],
    [
      'in which the wiki did not purge every edit in time',
      { purges: { told: false, calls: 1, failed: 0, urls: 1, tags: 0, hosts: 0 } },
      /had not purged every edit from the edge/
    ],
    [
      'in which every purge failed',
      {
        counter: { requests: 100, reads: 99, writes: 1 },
        purges: { told: true, calls: 2, failed: 2, urls: 0, tags: 0, hosts: 0 }
      },
      /1 edit, but no purge reached the edge/
    ],
    [
      'in which no purge reached one of the edges',
      {
        counter: { requests: 100, reads: 99, writes: 1 },
        purges: { ...NO_PURGES, calls: 2, urls: 2, confirmed: { edge: 2, 'edge-2': 0 } }
      },
      /1 edit, but no purge reached edge-2/
    ],
    [
      'with a log that is too short',
      { logLines: { edge: 998, origin: 100, local: 0 } },
      /the edge log has 998 lines, expected 1000/
    ],
    [
      'whose counter is not the sum of its reads and writes',
      { counter: { requests: 100, reads: 98, writes: 0 } },
      /the counter says 100 requests, but 98 reads and 0 writes/
    ],
    ['during which the clock was set by 60 ms', { wallS: 2.44 }, /it says 2\.44 s have passed, but 2\.50 s have/],
    [
      'during which the clock was set by an hour',
      { wallS: 3602.5 },
      /the clock was set during the trial: it says 3602\.50 s have passed, but 2\.50 s have/
    ],
    [
      'whose background did not run throughout the probe',
      { overlap: { proved: false } },
      /the background did not run before, during and after the probe/
    ]
  ])) {
    test(`${what} is invalid, with the reason`, () => {
      assert.match(problemsOf({ ...good(), ...change }).join('\n'), message)
    })
  }
})

describe('a trial in which the origin was killed, or could not be reached', () => {
  const times = {
    kind: /** @type {const} */ ('origin-down'),
    kill_began_at_us: 5_000_000,
    dead_at_us: 5_004_000,
    started_at_us: 11_000_000,
    answering_at_us: 11_050_000
  }
  // Of 1000 requests the cache served 600 and 300 failed: the origin answered 100, and 3 were in flight at the kill.
  const good = () => ({
    trial: trialOf('origin-down', ({ cell }) => cell.policy === 'ttl'),
    stores: true,
    coldProof: { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2 },
    k6,
    samples: {
      requests_sent: 1000,
      requests_failed: 300,
      requests_unanswered: 0,
      statuses: {},
      reads_sent: 1000,
      writes_sent: 0,
      served_by_cache: 600,
      cache_statuses: {},
      duration_mean_ms: 1,
      duration_max_ms: 2,
      failures: {},
      schedule: null,
      first_sent_at_us: 0,
      last_done_at_us: 1
    },
    background: null,
    overlap: null,
    fault: { ...times, cut_off: 3 },
    counter: { requests: 102, reads: 102, writes: 0 },
    refreshes: 0,
    purges: null,
    logLines: { edge: 1000, origin: 100, local: 0 },
    logLinesExpected: { edge: 1000, origin: 102, local: 0 },
    wallS: 2.5,
    monotonicS: 2.5
  })
  const answer = (/** @type {object} */ change) => ({
    doneAtUs: 5_010_000,
    durationMs: 20,
    status: 502,
    cacheStatus: 'MISS',
    ...change
  })

  test('is valid with failed requests, and has no exact counter', () => {
    assert.deepEqual(problemsOf(good()), [])
    assert.equal(expectedCounter(good()), null)
  })

  for (const [what, change, message] of /** @type {[string, object, RegExp][]} */ ([
    [
      'the counter lacks a request that was answered',
      { counter: { requests: 99, reads: 99, writes: 0 }, logLinesExpected: { edge: 1000, origin: 99, local: 0 } },
      /the counter says 99; the origin answered 100, and 3 were cut off/
    ],
    [
      'the counter has more requests than the kill can explain',
      {
        counter: { requests: 104, reads: 104, writes: 0 },
        logLinesExpected: { edge: 1000, origin: 104, local: 0 },
        logLines: { edge: 1000, origin: 104, local: 0 }
      },
      /the counter says 104; the origin answered 100/
    ],
    [
      'the origin log lacks more lines than requests were cut off',
      { logLines: { edge: 1000, origin: 98, local: 0 } },
      /the origin log has 98 lines, expected 99 to 102/
    ],
    [
      'the edge log lacks a line',
      { logLines: { edge: 999, origin: 100, local: 0 } },
      /the edge log has 999 lines, expected 1000/
    ],
    ['the fault did not happen', { fault: null }, /the planned fault did not happen/],
    [
      'another client sent an edit',
      { counter: { requests: 102, reads: 101, writes: 1 } },
      /1 write at the origin, but the probe sent 0/
    ]
  ])) {
    test(`is invalid if ${what}`, () =>
      assert.match(problemsOf({ ...good(), ...change }).join('\n'), message))
  }

  test('lacks no line of the origin\'s log if only a link was cut', () => {
    const fault = { kind: 'edge-parted', cut_began_at_us: 1, cut_at_us: 2, mending_began_at_us: 3, mended_at_us: 4, cut_off: 3 }
    const parted = (/** @type {number} */ lines) => /** @type {any} */ (
      { ...good(), fault, logLines: { edge: 1000, origin: lines, local: 0 } })
    assert.deepEqual(problemsOf(parted(102)), [])
    assert.match(problemsOf(parted(101)).join('\n'), /the origin log has 101 lines, expected 102/)
  })

  test('has no bounds if purges were lost', () => {
    const found = /** @type {any} */ (good())
    found.trial = { ...found.trial, settings: { ...found.trial.settings, fault: { kind: 'purges-lost', from_s: 1, for_s: 1 } } }
    assert.match(problemsOf(found).join('\n'), /1000 requests sent ≠ 600 served by cache \+ 102 at the origin/)
  })

  test('may count the edge\'s own refreshes, whether they reached the origin before the kill or not', () => {
    const counting = (/** @type {number} */ requests) => ({
      ...good(),
      refreshes: 40,
      counter: { requests, reads: requests, writes: 0 },
      logLines: { edge: 1000, origin: requests, local: 0 },
      logLinesExpected: { edge: 1000, origin: requests, local: 0 }
    })
    for (const requests of [100, 120, 143]) assert.deepEqual(problemsOf(counting(requests)), [])
    for (const requests of [99, 144]) {
      assert.match(problemsOf(counting(requests)).join(), new RegExp(`the counter says ${requests}; .*, and the edge sent 40 of its own`))
    }
  })

  test('counts a request as cut off at any time while the edge is parted, and never where purges are lost', () => {
    const cut = { cut_began_at_us: 5_000_000, cut_at_us: 5_004_000, mending_began_at_us: 9e6, mended_at_us: 9_001_000 }
    const parted = { kind: /** @type {const} */ ('edge-parted'), ...cut }
    for (const change of [{}, { doneAtUs: 8e6, status: 0 }, { doneAtUs: 11e6, durationMs: 2000, status: 0 }]) {
      assert.ok(wasCutOff(answer(change), parted), JSON.stringify(change))
      assert.ok(!wasCutOff(answer(change), { ...parted, kind: 'purges-lost' }), JSON.stringify(change))
    }
    for (const change of [{ status: 200 }, { doneAtUs: 4_999_999 }, { doneAtUs: 9_002_000, durationMs: 0 }]) {
      assert.ok(!wasCutOff(answer(change), parted), JSON.stringify(change))
    }
  })

  test('counts a request without an answer as cut off at any time: the origin may have counted it', () => {
    for (const doneAtUs of [4_000_000, 9_000_000]) {
      assert.ok(wasCutOff(answer({ doneAtUs, status: 0, cacheStatus: '' }), times))
      assert.ok(!wasCutOff(answer({ doneAtUs, status: 504, cacheStatus: '' }), times))
    }
  })

  test('counts a request as cut off if it was in flight at the kill and got no answer from the origin', () => {
    for (const change of [
      {},
      { status: 0, cacheStatus: '' },
      { status: 200, cacheStatus: 'STALE' },
      { doneAtUs: 5_004_000, durationMs: 0 }
    ]) {
      assert.ok(wasCutOff(answer(change), times), JSON.stringify(change))
    }
    for (const change of [
      { status: 200 },
      { status: 200, cacheStatus: 'UPDATING' },
      { doneAtUs: 4_999_999 },
      { doneAtUs: 5_010_000, durationMs: 5 }
    ]) {
      assert.ok(!wasCutOff(answer(change), times), JSON.stringify(change))
    }
  })
})
