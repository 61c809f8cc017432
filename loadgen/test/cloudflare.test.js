import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { LEAST, startFake, TOKEN } from '@stevec/cdn/test/fake/cloudflare'
import { keepVerified, requireVerified } from '../src/cloudflare/verified.js'
import { waitUntil } from '@stevec/harness/processes'
import { useShell } from './shell.js'

const ZONE = ['--zone', 'example.com', '--origin', '203.0.113.7']

const { sandbox, run: inShell } = useShell()

/** @param {import('node:test').TestContext} t */
async function setUp (t) {
  const fake = await startFake(t)
  const environment = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_API_URL: fake.url, CLOUDFLARE_API_TOKEN_FILE: '' }
  /** @param {string[]} args @param {Record<string, string>} [extra] */
  const stevec = (args, extra) => inShell(['cloudflare', ...args], { ...environment, ...extra })
  return { fake, environment, stevec }
}

test('apply needs --yes or the id of the current plan; applying again does nothing; destroy undoes it', async (t) => {
  const { fake, stevec } = await setUp(t)
  const before = fake.snapshot()
  const planned = await stevec(['plan', ...ZONE])
  assert.equal(planned.exitCode, 0, planned.stderr)
  assert.match(planned.stdout, /\+ DNS record wiki\.example\.com\n {4}type: A\n {4}content: 203\.0\.113\.7\n/)
  const [, line] = /to execute exactly this plan: stevec cloudflare (.+)/.exec(planned.stdout) ?? []
  assert.equal(fake.snapshot(), before)

  const unasked = await stevec(['apply', ...ZONE])
  assert.equal(unasked.exitCode, 2)
  assert.match(unasked.stderr, /nothing was done: confirm with --yes, or with --expect/)
  const other = await stevec([
    'apply', '--zone', 'example.com', '--origin', '203.0.113.8', '--expect', line.split(' ').at(-1) ?? ''
  ])
  assert.equal(other.exitCode, 1)
  assert.match(other.stderr, /nothing was done: the zone or the options have changed since that plan/)
  assert.deepEqual(fake.writes(), [])

  const applied = await stevec(line.split(' '))
  assert.equal(applied.exitCode, 0, applied.stderr)
  assert.match(applied.stderr, /create cache rule stevec_cached\n/)
  assert.match(applied.stdout, /done; next: stevec cloudflare verify --zone example\.com\n$/)
  assert.equal(fake.zone.records.length, 3)
  const again = await stevec(['apply', ...ZONE])
  assert.equal(again.exitCode, 0)
  assert.match(again.stdout, /example\.com: nothing to do/)
  const destroyed = await stevec(['destroy', '--zone', 'example.com', '--yes', '--json'])
  assert.equal(destroyed.exitCode, 0)
  assert.equal(JSON.parse(destroyed.stdout).changes.length, 7)
  assert.equal(fake.snapshot(), before)
})

test('the token file must have mode 600, needless permissions cause a warning, no output has the token', async (t) => {
  const { fake, environment: given } = await setUp(t)
  // Separate processes, as a user starts them: each sees only its own environment.
  const stevec = (/** @type {string[]} */ args, /** @type {Record<string, string>} */ extra) =>
    sandbox().stevec(['cloudflare', ...args], { ...given, ...extra })
  const file = path.join(sandbox().directory, 'token')
  writeFileSync(file, TOKEN, { mode: 0o600 })
  fake.tokens.set(TOKEN, {
    id: 'a'.repeat(32),
    status: 'active',
    permissions: [...LEAST, '#billing:edit'],
    zones: [fake.zone.id]
  })
  const environment = { CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_API_TOKEN_FILE: file, STEVEC_DEBUG: '1' }
  const planned = await stevec(['plan', ...ZONE, '--json'], environment)
  assert.equal(planned.exitCode, 0, planned.stderr)
  assert.match(planned.stderr, /warning: the token may do more than is needed: #billing:edit/)
  assert.match(JSON.parse(planned.stdout).id, /^[0-9a-f]{16}$/)
  fake.fail({ match: /zones$/, times: 9, how: 'status', status: 403 })
  const refused = await stevec(['plan', ...ZONE], environment)
  assert.equal(refused.exitCode, 3)
  chmodSync(file, 0o644)
  const open = await stevec(['plan', ...ZONE], environment)
  assert.equal(open.exitCode, 2)
  assert.match(open.stderr, /chmod 600/)
  for (const { stdout, stderr } of [planned, refused, open]) assert.ok(!(stdout + stderr).includes(TOKEN))
})

test('a second apply completes one that was killed', async (t) => {
  const { fake, stevec, environment } = await setUp(t)
  fake.fail({ match: /^POST .*dns_records/, skip: 1, how: 'stall' })
  const { child, done } = sandbox().start(['cloudflare', 'apply', ...ZONE, '--yes'], environment)
  assert.ok(await waitUntil(() => fake.writes().length === 4, 60_000))
  child.kill('SIGKILL')
  await done
  const again = await stevec(['apply', ...ZONE, '--yes'])
  assert.equal(again.exitCode, 0, again.stderr)
  assert.deepEqual(
    fake.zone.records.map(({ name }) => name),
    ['wiki.example.com', 'nocache.example.com', 'source.example.com']
  )
})

test('purge takes URLs, and lists of tags, hosts and prefixes', async (t) => {
  const { fake, stevec } = await setUp(t)
  const done = await stevec([
    'purge', '--zone', 'example.com', 'https://wiki.example.com/wiki/a,b', 'https://wiki.example.com/',
    '--tags', 'x,y', '--hosts', 'wiki.example.com', '--prefixes', 'wiki.example.com/wiki/'
  ])
  assert.equal(done.exitCode, 0, done.stderr)
  assert.equal(done.stdout, 'purged 6 items\n')
  assert.deepEqual(
    fake.zone.purges.map(({ soft: _soft, ...body }) => body),
    [
      { files: ['https://wiki.example.com/wiki/a,b', 'https://wiki.example.com/'] },
      { tags: ['x', 'y'] },
      { hosts: ['wiki.example.com'] },
      { prefixes: ['wiki.example.com/wiki/'] }
    ]
  )
})

test('wrong and missing arguments are refused with what to do, and nothing is written to the zone', async (t) => {
  const { fake, stevec } = await setUp(t)
  for (const [args, extra, exitCode, message] of /** @type {[string[], Record<string, string>, number, RegExp][]} */ ([
    [[], {}, 2, /use one of plan, apply, destroy, verify, purge, analytics/],
    [['remove', '--zone', 'example.com'], {}, 2, /the action is missing or unknown/],
    [['plan'], {}, 2, /--zone is missing/],
    [['plan', '--zone', 'example.com'], {}, 2, /--origin is missing: the machine with the wiki/],
    [['plan', '--zone', 'example.com', '--origin', '10.0.0.1'], {}, 2, /cannot be reached from the internet/],
    [['plan', '--zone', 'example .com', '--origin', '203.0.113.7'], {}, 2, /the zone is a domain/],
    [['plan', ...ZONE, 'more'], {}, 2, /unexpected argument "more"/],
    [['plan', ...ZONE], { CLOUDFLARE_API_TOKEN: '' }, 2, /no API token: set CLOUDFLARE_API_TOKEN/],
    [['plan', ...ZONE, '--api-url', 'http://cdn.example'], {}, 2, /must be an https URL/],
    [['verify', '--zone', 'example.com', '--doors', 'cached=http://a'], {}, 2, /--doors is cached=URL/],
    [['purge', '--zone', 'example.com'], {}, 2, /purge needs URLs, --tags/],
    [['purge', '--zone', 'example.com', '--everything', 'https://wiki.example.com/'], {}, 2, /or --everything without any of these/],
    [['purge', '--zone', 'example.com', '/wiki/a'], {}, 2, /a URL to purge begins with/],
    [['analytics', '--zone', 'example.com'], {}, 2, /--run is missing: the folder of a run/],
    [['analytics', '--zone', 'example.com', '--run', '/nowhere'], {}, 2, /is not the folder of a run/]
  ])) {
    const done = await stevec(args, extra)
    assert.equal(done.exitCode, exitCode, `${args.join(' ')}: ${done.stderr}`)
    assert.match(done.stderr, message)
  }
  assert.deepEqual(fake.writes(), [])
})

test('analytics compares the requests that Cloudflare counted in each trial with those that we sent', async (t) => {
  const { fake, stevec } = await setUp(t)
  const run = path.join(sandbox().directory, 'run')
  const trial = (/** @type {number} */ number, /** @type {string} */ door, /** @type {number} */ minute) => {
    mkdirSync(path.join(run, 'trials', `000${number}`), { recursive: true })
    writeFileSync(
      path.join(run, 'trials', `000${number}`, 'trial.json'),
      JSON.stringify({
        trial: number,
        door,
        started_at: `2026-03-01T10:0${minute}:00.500Z`,
        finished_at: `2026-03-01T10:0${minute}:30.000Z`,
        requests_sent: 4,
        cold_proof: { observed: ['MISS', 'HIT', 'MISS'] },
        background: null,
        cache_statuses: { MISS: 1, HIT: 3 }
      })
    )
  }
  trial(1, 'cached', 0)
  trial(2, 'source', 1)
  trial(3, 'nocache', 2)
  trial(4, 'cached', 3)
  writeFileSync(
    path.join(run, 'manifest.json'),
    JSON.stringify({
      kind: 'run',
      target: { kind: 'cloudflare', zone: 'example.com' },
      doors: Object.fromEntries(
        [['cached', 'wiki'], ['nocache', 'nocache'], ['source', 'source']]
          .map(([door, label]) => [door, { url: `https://${label}.example.com` }])
      )
    })
  )
  const count = (/** @type {string} */ label, /** @type {string} */ minute, /** @type {string[]} */ ...statuses) => {
    for (const cacheStatus of statuses) {
      fake.traffic.push({ zone: fake.zone.id, host: `${label}.example.com`, at: `2026-03-01T10:0${minute}:10.000Z`, cacheStatus, bytes: 100 })
    }
  }
  count('wiki', '0', 'miss', 'hit', 'miss', 'miss', 'hit', 'hit', 'hit')
  count('shop', '0', 'hit')
  count('nocache', '2', 'bypass', 'bypass')
  const done = await stevec(['analytics', '--zone', 'example.com', '--run', run])
  assert.equal(done.exitCode, 0, done.stderr)
  assert.match(
    done.stdout,
    /in 1 of 3 trials Cloudflare counted exactly the requests that we sent\nCloudflare has no counts of 1 trial yet/
  )
  const { trials } = JSON.parse(readFileSync(path.join(run, 'cloudflare.json'), 'utf8'))
  assert.deepEqual(
    trials.map((/** @type {any} */ {
      trial,
      requests_counted: counted,
      requests_ours: ours,
      requests_difference: difference,
      sample_interval: interval
    }) => [trial, counted, ours, difference, interval]),
    [
      [1, 7, 7, 0, 1],
      [3, 2, 7, -5, 1],
      [4, 0, 7, -7, null]
    ]
  )
  assert.deepEqual(trials[0].groups, [
    { host: 'wiki.example.com', cache_status: 'MISS', requests: 3, edge_response_bytes: 300, sample_interval: 1 },
    { host: 'wiki.example.com', cache_status: 'HIT', requests: 4, edge_response_bytes: 400, sample_interval: 1 }
  ])
  assert.deepEqual(readdirSync(run).sort(), ['cloudflare.json', 'manifest.json', 'trials'])

  fake.tokens.set(TOKEN, {
    id: 'a'.repeat(32),
    status: 'active',
    permissions: LEAST.filter((name) => !name.startsWith('#analytics')),
    zones: [fake.zone.id]
  })
  const refused = await stevec(['analytics', '--zone', 'example.com', '--run', run])
  assert.equal(refused.exitCode, 3)
  assert.match(refused.stderr, /permissions that the README lists/)
})

test('an experiment runs only on a zone that passed its verification within the last day', () => {
  const state = path.join(sandbox().directory, 'state')
  assert.throws(
    () => requireVerified(state, 'example.com'),
    /the zone example\.com is not verified yet; run: stevec cloudflare verify --zone example\.com/
  )
  const doors = {
    cached: 'https://wiki.example.com',
    nocache: 'https://nocache.example.com',
    source: 'http://source.example.com'
  }
  const verified = { zone: 'example.com', verified_at: new Date().toISOString(), ok: true, doors, checks: [] }
  keepVerified(state, verified)
  assert.deepEqual(requireVerified(state, 'example.com'), verified)
  keepVerified(state, { ...verified, verified_at: new Date(Date.now() - 25 * 3_600_000).toISOString() })
  assert.throws(() => requireVerified(state, 'example.com'), /more than a day ago/)
  keepVerified(state, {
    ...verified,
    ok: false,
    checks: [{ id: 'hit', outcome: 'failed', title: '', saw: '', todo: '' }]
  })
  assert.throws(() => requireVerified(state, 'example.com'), /failed its verification \(hit\)/)
})
