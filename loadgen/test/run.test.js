import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createSandbox, json, samplesOf, trialsOf } from './helper.js'
import { useShell } from './shell.js'

const HELP_COLUMNS = 100

describe('a run of read-hot', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Awaited<ReturnType<(typeof sandbox)['stevec']>>} */
  let run
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    run = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1', '--seed', '7'])
    assert.equal(run.exitCode, 0, run.stderr + run.stdout)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  })
  after(() => sandbox.remove())

  test('succeeds, prints its progress, and stops its stack', () => {
    for (const expected of [
      /starting mongod, wiki, nginx, doors/,
      new RegExp(`http://wiki\\.localhost:${sandbox.ports.edge}/`),
      /trial 1 of 4 .*s left/,
      /trial 4 of 4/,
      /all 4 trials valid/,
      /stack stopped/
    ]) assert.match(run.stdout, expected)
    assert.deepEqual(sandbox.processes(), [])
    assert.equal(existsSync(path.join(sandbox.directory, 'state/lab')), false)
  })

  test('has a counter of all requests without a cache, and of all distinct pages with one', () => {
    const { plans } = json(path.join(directory, 'manifest.json'))
    const counters = Object.fromEntries(trialsOf(directory).map((trial) => [trial.door, trial.counter]))
    const all = { requests: 1000, reads: 1000, writes: 0 }
    const distinct = { requests: plans[0].distinct_pages, reads: plans[0].distinct_pages, writes: 0 }
    assert.deepEqual(counters, { source: all, nocache: all, local: distinct, cached: distinct })
  })

  test('accounts for every request in samples, counter and logs', () => {
    for (const trial of trialsOf(directory)) {
      assert.equal(trial.requests_sent, trial.served_by_cache + trial.counter.requests)
      assert.equal(trial.counter.requests, trial.counter_expected)
      assert.equal(trial.requests_failed, 0)
      const folder = path.join(directory, 'trials', trial.name)
      const samples = samplesOf(folder)
      assert.equal(samples.length, 1000)
      assert.equal(new Set(samples.map(({ iteration }) => iteration)).size, 1000)
      const lines = (/** @type {string} */ role) =>
        gunzipSync(readFileSync(path.join(folder, `${role}.log.gz`)))
          .toString().split('\n').filter(Boolean)
          .map((line) => JSON.parse(line))
      assert.equal(lines('origin').length, trial.counter.requests)
      assert.equal(lines('edge').length, ['cached', 'nocache'].includes(trial.door) ? 1000 : 0)
      if (trial.door === 'cached') {
        assert.equal(lines('edge').filter((line) => line.cache_status === 'HIT').length, trial.served_by_cache)
      }
    }
  })

  test('starts each trial with caches that were proved cold', () => {
    for (const { door, cold_proof: proof } of trialsOf(directory)) {
      assert.equal(proof.cold, true)
      assert.deepEqual(
        proof.observed,
        {
          cached: ['MISS', 'HIT', 'MISS'],
          local: ['MISS', 'HIT', 'MISS'],
          nocache: ['BYPASS', 'BYPASS', 'BYPASS'],
          source: ['', '', '']
        }[String(door)]
      )
    }
  })

  test('records its plan, seed, versions and configuration in the manifest, and no token', () => {
    const text = readFileSync(path.join(directory, 'manifest.json'), 'utf8')
    const manifest = JSON.parse(text)
    assert.equal(manifest.schema_version, 2)
    assert.deepEqual(
      [manifest.kind, manifest.status, manifest.trials_planned, manifest.resumed_at],
      ['run', 'complete', 4, []]
    )
    const { name, applied, missing, calibration, sha256 } = manifest.profile
    assert.deepEqual(
      { name, applied, missing, calibration },
      { name: 'none', applied: { cpu: false, memory: false, links: false }, missing: [], calibration: null }
    )
    assert.match(sha256, /^sha256:[0-9a-f]{64}$/)
    assert.equal(manifest.seed, 7)
    assert.match(manifest.plan_hash, /^sha256:[0-9a-f]{64}$/)
    assert.deepEqual(Object.keys(manifest.config_hashes), ['nginx/origin', 'nginx/edge', 'nginx/local'])
    for (const name of ['node', 'k6', 'nginx', 'mongod', 'toxiproxy', 'fastify', 'mongoose']) {
      assert.match(manifest.versions[name], /^\d+\.\d+\.\d+/)
    }
    assert.match(path.basename(directory), /^\d{8}T\d{6}Z-read-hot-([0-9a-f]{7}|nogit)$/)
    assert.doesNotMatch(text, /token|Bearer/i)
  })

  test('has a report with `stevec report latest`', async () => {
    const { exitCode, stdout, stderr } = await sandbox.stevec(['report', 'latest'])
    assert.equal(exitCode, 0, stdout + stderr)
    const page = readFileSync(path.join(directory, 'report/index.html'), 'utf8')
    assert.match(page, /The law of the counter holds in all 4 trials/)
    assert.ok(
      existsSync(path.join(directory, 'report/tables/table-1.1.csv')) ||
        existsSync(path.join(directory, 'report/tables/read-hot/table-1.1.csv'))
    )
  })
})

describe('a run of a user\'s experiment with a background, edits and the open model', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Awaited<ReturnType<(typeof sandbox)['stevec']>>} */
  let run
  /** @type {Record<string, any>[]} */
  let trials
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      factors: {
        door: ['source', 'cached', 'local'],
        load: {
          one: { vus: 1 },
          eight: { vus: 8 },
          background: { background_vus: 5 },
          mixed: { edit_ratio: 0.2, edit: 'get-post', edit_size_chars: 2000 },
          write: { edit_ratio: 1 },
          // 50 VUs for 50 requests: k6 drops none, even if the machine stalls for a while.
          open: { model: 'open', rate_per_s: 100, vus: 50 },
          poisson: { model: 'open', rate_per_s: 100, vus: 50, arrivals: 'poisson' },
          // One VU, and 0.1 s for each request: most of the 400 find none within three seconds.
          late: {
            model: 'open',
            rate_per_s: 400,
            vus: 1,
            duration_max_s: 1,
            bound: 'either',
            requests: 10000,
            origin_delay_ms: 100,
            timeout_s: 3
          }
        }
      }
    })
    run = await sandbox.stevec(['run', file, '--json'])
    assert.equal(run.exitCode, 0, run.stdout + run.stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => sandbox.remove())

  const of = (/** @type {string} */ load) => trials.filter(({ cell }) => cell.load === load)
  const rows = (/** @type {Record<string, any>} */ trial, file = 'samples.csv.gz') =>
    samplesOf(path.join(directory, 'trials', trial.name), file)

  test('prints its sums as JSON with --json, and nothing else', () => {
    const sum = (/** @type {(trial: Record<string, any>) => number} */ each) =>
      trials.reduce((total, trial) => total + each(trial), 0)
    const [failed, neverSent] = [sum((trial) => trial.requests_failed), sum((trial) => trial.schedule?.never_sent ?? 0)]
    assert.deepEqual(JSON.parse(run.stdout), {
      directory,
      trials: 24,
      invalid: 0,
      requests: neverSent + sum((trial) => trial.requests_sent + (trial.background?.requests_sent ?? 0)),
      requests_failed: failed + sum((trial) => trial.background?.requests_failed ?? 0),
      requests_never_sent: neverSent
    })
  })

  test('sends the same requests with more VUs', () => {
    const requests = (/** @type {Record<string, any>} */ trial) =>
      rows(trial).map(({ iteration, page, method }) => `${iteration},${page},${method}`).sort()
    const [alone] = of('one').map(requests)
    assert.equal(alone.length, 50)
    for (const trial of of('eight')) {
      assert.equal(trial.plan, of('one')[0].plan)
      assert.deepEqual(requests(trial), alone)
    }
    assert.equal(of('eight').length, 3)
  })

  test('counts the background, too: requests of both minus those that caches served equal the counter', () => {
    for (const trial of of('background')) {
      const { background } = trial
      assert.ok(background.requests_sent >= 5)
      assert.equal(
        trial.requests_sent + background.requests_sent - trial.served_by_cache - background.served_by_cache,
        trial.counter.requests
      )
      assert.equal(rows(trial, 'background.csv.gz').length, background.requests_sent)
      assert.equal(
        background.completed_per_s.reduce((/** @type {number} */ sum, /** @type {number} */ count) => sum + count, 0),
        background.requests_sent
      )
      assert.equal(trial.counter_expected, null)
      assert.ok(background.k6.generator_cpu_s > 0 && trial.k6.generator_cpu_s > 0)
    }
  })

  test('runs the background before, during and after the probe', () => {
    for (const trial of of('background')) {
      const [probe, background] = [rows(trial), rows(trial, 'background.csv.gz')]
      const firstSent = (/** @type {ReturnType<typeof rows>} */ samples) =>
        Math.min(...samples.map(({ sentAtUs }) => sentAtUs))
      const lastDone = (/** @type {ReturnType<typeof rows>} */ samples) =>
        Math.max(...samples.map(({ doneAtUs }) => doneAtUs))
      assert.ok(firstSent(background) < firstSent(probe) && lastDone(probe) < lastDone(background))
      assert.equal(trial.overlap.proved, true)
      const during = background.filter(
        ({ doneAtUs }) => doneAtUs >= firstSent(probe) && doneAtUs <= lastDone(probe)
      ).length
      // Sample times are rounded to microseconds: a request at a boundary may fall on either side.
      assert.ok(
        Math.abs(trial.background.rate_per_min - during / (lastDone(probe) - firstSent(probe)) * 60e6) /
          trial.background.rate_per_min < 0.1
      )
    }
  })

  test('counts reads and writes separately, and records the revision of every edit', () => {
    for (const trial of of('mixed')) {
      const writes = rows(trial).filter(({ method }) => method === 'POST')
      assert.ok(writes.length > 0)
      assert.deepEqual([trial.writes_sent, trial.counter.writes], [writes.length, writes.length])
      assert.equal(trial.reads_sent, 50)
      assert.equal(new Set(writes.map(({ page, revision }) => `${page} ${revision}`)).size, writes.length)
      for (const { iteration, page, revision } of writes) {
        assert.ok(revision >= 2)
        assert.equal(
          rows(trial).filter((row) => row.iteration === iteration && row.method === 'GET' && row.page === page).length,
          1
        )
      }
    }
    for (const trial of of('write')) assert.deepEqual(trial.counter, { requests: 50, reads: 0, writes: 50 })
  })

  test('starts each trial with pages of the planned size, also after edits of another size', () => {
    for (const trial of of('open')) {
      const sizes = rows(trial).map(({ sizeBytes }) => sizeBytes)
      // The HTML of 500 characters varies with the number of paragraphs. An edit of 2000 would make it 1500 longer.
      assert.ok(Math.max(...sizes) - Math.min(...sizes) < 100, `${Math.min(...sizes)} to ${Math.max(...sizes)}`)
    }
  })

  test('plans each request of the open model, at a constant rate or as Poisson arrivals', () => {
    for (const load of ['open', 'poisson']) {
      for (const trial of of(load)) {
        const planned = rows(trial).map(({ plannedAtUs }) => plannedAtUs).sort((a, b) => a - b)
        const gaps = planned.slice(1).map((time, index) => (time - planned[index]) / 1000)
        assert.deepEqual([trial.requests_sent, trial.schedule.never_sent, planned.length], [50, 0, 50])
        const regular = gaps.filter((gap) => Math.abs(gap - 10) < 0.002).length
        if (load === 'open') assert.equal(regular, 49, String(gaps))
        else assert.ok(regular < 5, String(gaps))
        assert.ok(rows(trial).every(({ sentAtUs, plannedAtUs }) => sentAtUs > plannedAtUs - 1000))
      }
    }
    assert.equal(rows(of('mixed')[0])[0].plannedAtUs, null, 'the closed model has no planned times')
  })

  test('sends a request late when no VU is free, and records those that it never sent', () => {
    for (const trial of of('late').filter(({ door }) => door === 'source')) {
      const samples = rows(trial)
      const [sent, neverSent] = [true, false].map((wanted) =>
        samples.filter(({ failure }) => (failure !== 'never-sent') === wanted))
      assert.deepEqual([trial.requests_planned, samples.length, sent.length], [400, 400, trial.requests_sent])
      assert.ok(sent.length > 5 && sent.length < 50, `${sent.length} sent`)
      assert.equal(trial.schedule.never_sent, neverSent.length)
      assert.ok(trial.schedule.lag_max_ms > 1000, `latest ${trial.schedule.lag_max_ms} ms`)
      // The response time counts from the plan, so it has the lag in it.
      const responsesMs = sent.map(({ doneAtUs, plannedAtUs }) => (doneAtUs - plannedAtUs) / 1000)
      const meanMs = responsesMs.reduce((sum, responseMs) => sum + responseMs) / sent.length
      assert.ok(Math.abs(trial.schedule.response_mean_ms - meanMs) < 1)
      assert.ok(trial.schedule.response_mean_ms > trial.duration_mean_ms + trial.schedule.lag_p50_ms / 2)
      const lastSentUs = Math.max(...sent.map(({ plannedAtUs }) => plannedAtUs))
      assert.ok(neverSent.every(({ plannedAtUs }) => plannedAtUs <= lastSentUs + 1e6 && plannedAtUs > 0))
      assert.deepEqual([trial.valid, trial.invalid_reasons], [true, []])
    }
  })

  test('uses one plan at all doors under the same load', () => {
    const { plans } = json(path.join(directory, 'manifest.json'))
    for (const load of ['one', 'background', 'mixed', 'write', 'open', 'poisson', 'late']) {
      assert.equal(new Set(of(load).map(({ plan }) => plan)).size, 1)
    }
    const mixed = plans.find((/** @type {{id: string}} */ { id }) => id === of('mixed')[0].plan)
    assert.equal(mixed.requests, mixed.reads + mixed.writes)
    assert.equal(mixed.writes, of('mixed')[0].writes_sent)
  })
})

describe('a run that cannot begin', () => {
  const { sandbox, run } = useShell()

  test('is refused with the reason and, for a wrong name, with the valid ones', async () => {
    for (const [args, message, code] of /** @type {[string[], RegExp, number][]} */ ([
      [['run'], /which experiment\? Name one of .*read-hot/, 2],
      [['run', 'nothing'], /there is no experiment "nothing"; the experiments are: .*read-hot/, 2],
      [['run', 'none.json'], /there is no file none\.json/, 2],
      [['run', 'study', '--only', 'E9'], /the study has no "E9"; it has: E1 read-hot/, 2],
      [['run', 'read-hot', '--only', 'source'], /--only of an experiment is factor=level/, 2],
      [['run', 'read-hot', '--profile', 'moon'], /there is no profile "moon"/, 2],
      [['run', 'crawlers'], /share of a core only, so that k6 can send it; add --profile quarter-core/, 2],
      [['run', '--resume'], /there is no unfinished run/, 2],
      [['run', 'read-hot', '--preset', 'huge'], /--preset is quick, sample, full, not "huge"/, 2],
      [['run', 'read-hot', '--seed', 'x'], /--seed must be a whole number from 0 to 4294967295, not "x"/, 2],
      [['run', 'hosts', '--vus', '8'], /--vus is for all trials, but the factor wikis .* sets vus/, 2],
      [['run', 'read-hot', '--colour'], /--colour/, 2],
      [['walk'], /there is no command "walk"/, 2],
      [['report', 'nothing'], /there is no run "nothing"/, 2]
    ])) {
      const { exitCode, stderr } = await run(args)
      assert.match(stderr, message)
      assert.equal(exitCode, code, args.join(' '))
    }
    assert.equal(existsSync(sandbox().results), false)
  })
})

describe('every command', () => {
  const { run } = useShell()

  test('has help with examples, within 100 columns', async () => {
    const { stdout } = await run(['--help'])
    for (const name of [
      'setup', 'up', 'edge', 'board', 'down', 'status', 'run', 'calibrate', 'load', 'report', 'compact', 'cloudflare',
      'backup', 'restore', 'verify'
    ]) {
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
      const help = await run([name, '--help'])
      assert.equal(help.exitCode, 0)
      assert.match(help.stdout, new RegExp(`^Usage: stevec ${name}`))
      assert.match(help.stdout, /^Examples?:$/m)
      assert.deepEqual(help.stdout.split('\n').filter((line) => line.length > HELP_COLUMNS), [], name)
    }
  })
})
