import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { startFake, TOKEN } from '@stevec/cdn/test/fake/cloudflare'
import { BudgetError, checkBudget, requestsOf, requestsOfTrial, total } from '../src/cloudflare/budget.js'
import { fitToZone, oneCaching } from '../src/cloudflare/fit.js'
import { keepVerified } from '../src/cloudflare/verified.js'
import { createZoneSite } from '../src/cloudflare/zone-site.js'
import { cellsOf, DefinitionError, loadDefinition } from '../src/lab/definition.js'
import { expectedCounter } from '../src/lab/judge.js'
import { planRun } from '../src/lab/matrix.js'
import { createProgress } from '../src/lab/progress.js'
import { readProfile } from '../src/profile/profile.js'
import { json } from './helper.js'
import { useShell } from './shell.js'

const doors = {
  cached: 'https://wiki.example.com',
  nocache: 'https://nocache.example.com',
  source: 'http://source.example.com'
}
/** @type {import('../src/cloudflare/verified.js').Verified} */
const verified = { zone: 'example.com', verified_at: new Date().toISOString(), ok: true, doors, checks: [] }

/** @param {string} name @param {Parameters<typeof loadDefinition>[2]} [overrides] */
const trialsOf = (name, overrides) => planRun(fitToZone(loadDefinition(name, 'quick', overrides)), 1).trials

describe('an experiment through a zone', () => {
  test('leaves out what a zone does not support, with the reason, and is refused if nothing is left', () => {
    const whole = loadDefinition('read-hot', 'quick')
    const fitted = fitToZone(whole)
    assert.deepEqual(
      [fitted.factors.door, fitted.left_out],
      [
        ['source', 'nocache', 'cached'],
        [{ level: 'door=local', reason: 'the door local stands on the client\'s machine and is none of a zone\'s' }]
      ]
    )
    assert.ok(/** @type {string[]} */ (whole.factors.door).includes('local'))
    const untouched = loadDefinition('read-sparse', 'quick')
    assert.equal(fitToZone(untouched), untouched)
    const named = {
      ...whole,
      factors: {
        way: { near: { door: /** @type {const} */ ('local') }, far: { door: /** @type {const} */ ('cached') } }
      }
    }
    assert.deepEqual(
      [Object.keys(fitToZone(named).factors.way), fitToZone(named).left_out?.map(({ level }) => level)],
      [['far'], ['way=near']]
    )
    const policies = {
      ...whole,
      factors: { policy: ['ttl', 'ttl-swr', 'no-store'] },
      settings: { ...whole.settings, door: /** @type {const} */ ('cached') }
    }
    assert.deepEqual(fitToZone(policies).factors.policy, ['ttl', 'no-store'])
    for (const nothing of [
      loadDefinition('read-hot', 'quick', { only: { door: ['local'] } }),
      { ...whole, settings: { ...whole.settings, door: /** @type {const} */ ('local') }, factors: { vus: [1] } }
    ]) {
      assert.throws(
        () => fitToZone(nothing),
        (error) =>
          error instanceof DefinitionError &&
          /cannot be run through a zone: the door local .*Run it without --target/.test(error.message)
      )
    }
    // A setting that is added later needs a decision before it is tried on a user's wiki.
    const later = { ...untouched, settings: { ...untouched.settings, gravity: 1 } }
    assert.throws(() => fitToZone(later), /gravity needs a stack of the lab's own/)
  })

  test('needs the same wiki settings in all trials, as a run never restarts the wiki behind a zone', () => {
    const hot = loadDefinition('read-hot', 'quick')
    assert.equal(oneCaching([hot, loadDefinition('read-sparse', 'quick')]).ttl_s, 180)
    assert.throws(
      () => oneCaching([hot, loadDefinition('mixed-write', 'quick')]),
      /read-hot \(door=source\) needs a wiki with CACHE_TTL_S=180, mixed-write \(.*\) one with CACHE_TTL_S=1, and a run never restarts the wiki behind a zone/
    )
    assert.throws(
      () => oneCaching([{ ...hot, factors: { policy: ['ttl', 'revalidate'] } }]),
      /CACHE_POLICY=ttl.*CACHE_POLICY=revalidate/
    )
  })

  test('has no exact counter if several caches may fetch a page, and has one if no cache stores pages', () => {
    const [cached, nocache] = ['cached', 'nocache'].map(
      (door) => trialsOf('read-hot', { only: { door: [door] }, repetitions: 1 })[0]
    )
    const k6 = {
      exit_code: 0,
      message: null,
      wall_s: 3,
      generator_cpu_s: 0,
      generator_cpu_share: 0,
      stolen_cpu_share: 0
    }
    assert.equal(expectedCounter({ trial: cached, stores: true, k6 }), cached.plan.distinct_pages)
    assert.equal(expectedCounter({ trial: cached, stores: true, severalCaches: true, k6 }), null)
    assert.equal(expectedCounter({ trial: nocache, stores: false, k6 }), 1000)
  })
})

describe('the budget', () => {
  test('counts probes, cold proofs and warm-up, and each page again whenever it has to be rewritten', () => {
    const trials = trialsOf('read-hot', { repetitions: 2 })
    assert.deepEqual(requestsOf(trials, 1, 300), { probes: 6000, background: 0, proofs: 48, pages: 101, warm_up: 300 })
    // Each change of the size rewrites all pages.
    const mixed = trialsOf('mixed-write', { repetitions: 1, only: { workload: ['get-only'] } })
    assert.equal(requestsOf(mixed, 1, 0).pages, 1 + 4 * 3)
    const [written] = trialsOf('mixed-write', {
      repetitions: 1,
      only: { workload: ['mixed'], page_size_chars: ['5000'] }
    })
    assert.equal(requestsOfTrial(written).probes, 300 + written.plan.writes)
  })

  test('estimates the background by the responses of the probe, at most as many as duration_max_s allows', () => {
    const background = (/** @type {Partial<import('../src/lab/definition.js').Settings>} */ settings) => {
      const [trial] = trialsOf('overload', { repetitions: 1, only: { door: ['cached'], background_vus: ['10'] } })
      return requestsOfTrial({ ...trial, settings: { ...trial.settings, ...settings } }).background
    }
    assert.equal(background({ duration_max_s: 600 }), 10 * 101)
    assert.equal(background({ duration_max_s: 1 }), 10 * 51)
    assert.equal(background({ duration_max_s: 600, pause_s: 0.2 }), 10 * 1101)
    assert.equal(background({ duration_max_s: 600, model: 'open', rate_per_s: 10 }), 10 * 501)
    assert.equal(background({ background_vus: 0 }), 0)
  })

  test('is checked before the run and before each trial', async () => {
    const trials = trialsOf('read-hot', { repetitions: 2 })
    const requests = requestsOf(trials, 1, 300)
    checkBudget(requests, total(requests))
    assert.throws(
      () => checkBudget(requests, total(requests) - 1),
      (error) =>
        error instanceof BudgetError &&
        /would send about 6449 requests \(6000 by the probes, 48 to prove caches cold, 101 to write pages, 300 to warm up\), and may send 6448: .*--max-requests 6449/.test(error.message)
    )
    const site = createZoneSite({
      seed: 1,
      verified,
      purge: /** @type {any} */ ({}),
      maxRequests: 5000,
      edits: false,
      signal: new AbortController().signal,
      progress: createProgress(() => {})
    })
    await site.admit(trials[0])
    site.ended(trials[0], 4000)
    await assert.rejects(
      async () => site.admit(trials[1]),
      /4000 requests are sent, the next trial may take 1108, and the run may send 5000: finished trials are kept; resume with stevec run --resume --max-requests N/
    )
    await site.close()
  })
})

describe('stevec run --target cloudflare refuses, before the first request to a door,', () => {
  const { sandbox, run: inShell } = useShell()
  const state = () => path.join(sandbox().directory, 'state')
  const environment = {
    CLOUDFLARE_API_TOKEN: TOKEN,
    CLOUDFLARE_API_TOKEN_FILE: '',
    CLOUDFLARE_API_URL: 'http://127.0.0.1:9'
  }
  const zone = ['--target', 'cloudflare', '--zone', 'example.com']

  /** @param {[string[], number, RegExp][]} cases @param {Record<string, string>} [extra] */
  async function refuse (cases, extra) {
    for (const [args, exitCode, message] of cases) {
      const done = await inShell(['run', ...args], { ...environment, ...extra })
      assert.equal(done.exitCode, exitCode, `${args.join(' ')}: ${done.stdout}${done.stderr}`)
      assert.match(done.stderr, message)
      assert.ok(!(done.stdout + done.stderr).includes(TOKEN))
    }
  }

  test('wrong options', async () => {
    await refuse([
      [['read-hot', '--target', 'moon'], 2, /--target is stack or cloudflare, not "moon"/],
      [['read-hot', '--zone', 'example.com'], 2, /--zone is for --target cloudflare/],
      [['read-hot', '--max-requests', '7'], 2, /--max-requests is for --target cloudflare/],
      [['read-hot', ...zone, '--max-requests', 'many'], 2, /--max-requests must be a whole number/],
      [['read-hot', ...zone, '--profile', 'banana-pi'], 2, /--profile is for a stack of one's own/],
      [['read-hot', ...zone, '--edge-port', '8080'], 2, /--edge-port is for a stack of one's own/],
      [
        ['read-hot', '--target', 'cloudflare'],
        2,
        /no zone was verified yet: stevec cloudflare verify --zone example\.com/
      ],
      [['read-hot', ...zone, '--only', 'door=local'], 2, /cannot be run through a zone: the door local/]
    ])
  })

  test('an unverified zone, a run over budget, a study that needs two wikis, and a missing or bad token', async (t) => {
    const fake = await startFake(t)
    await refuse([
      [
        ['read-hot', ...zone],
        3,
        /the zone example\.com is not verified yet; run: stevec cloudflare verify --zone example\.com/
      ]
    ])
    keepVerified(state(), {
      ...verified,
      ok: false,
      checks: [{ id: 'hit', outcome: 'failed', title: '', saw: '', todo: '' }]
    })
    await refuse([[['read-hot', ...zone], 3, /failed its verification \(hit\)/]])
    keepVerified(state(), { ...verified, verified_at: '2026-01-01T00:00:00.000Z' })
    await refuse([[['read-hot', ...zone], 3, /was verified more than a day ago/]])
    keepVerified(state(), verified)
    await refuse([
      [
        ['read-hot', ...zone, '--max-requests', '24000'],
        2,
        /would send about \d+ requests \(24000 by the probes, .*and may send 24000/
      ],
      [['overload', ...zone], 2, /about \d+ by the background, .*may send 50000/],
      [['study', ...zone, '--repetitions', '1', '--max-requests', '1000000'], 2, /run them separately with --only/]
    ])
    await refuse([[['read-hot', '--target', 'cloudflare'], 2, /no API token: set CLOUDFLARE_API_TOKEN/]], {
      CLOUDFLARE_API_TOKEN: ''
    })
    fake.tokens.clear()
    await refuse([[['read-hot', ...zone], 3, /look for the zone example\.com: 40[01]/]], {
      CLOUDFLARE_API_URL: fake.url
    })
    keepVerified(state(), { ...verified, zone: 'example.org' })
    await refuse([
      [['read-hot', '--target', 'cloudflare'], 2, /name the zone: --zone example\.com, or --zone example\.org/]
    ])
    assert.deepEqual(readdirSync(state()).sort(), ['cloudflare-example.com.json', 'cloudflare-example.org.json'])
    assert.throws(() => readdirSync(sandbox().results), /ENOENT/)
  })

  test('to resume a run at another target', async () => {
    keepVerified(state(), verified)
    const directory = path.join(sandbox().results, '20261121T100000Z-read-hot-abc1234')
    mkdirSync(path.join(directory, 'trials'), { recursive: true })
    const definition = fitToZone(loadDefinition('read-hot', 'quick', { repetitions: 1 }))
    const manifest = {
      schema_version: 2,
      kind: 'run',
      status: 'interrupted',
      experiment: definition,
      preset: 'quick',
      seed: 1,
      profile: { name: 'none', asked: readProfile('none').profile },
      target: { kind: 'cloudflare', zone: 'example.com', doors }
    }
    writeFileSync(path.join(directory, 'manifest.json'), JSON.stringify(manifest))
    await refuse([
      [['--resume', '--target', 'stack'], 2, /target was {"kind":"cloudflare","zone":"example\.com"} and is now null/],
      [
        ['--resume', '--target', 'cloudflare', '--zone', 'example.org'],
        2,
        /target was .*example\.com.* and is now .*example\.org/
      ],
      [['--resume', '--max-requests', '100'], 2, /would send about \d+ requests/]
    ])
    writeFileSync(path.join(directory, 'manifest.json'), JSON.stringify({ ...manifest, target: null }))
    await refuse([[['--resume', ...zone], 2, /target was null and is now/]])
    assert.equal(json(path.join(directory, 'manifest.json')).status, 'interrupted')
    assert.ok(cellsOf(definition).length === 3)
  })
})
