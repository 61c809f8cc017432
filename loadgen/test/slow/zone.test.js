import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createClient } from '@stevec/cdn/cloudflare/client'
import { ask } from '@stevec/cdn/cloudflare/door'
import { createPurge } from '@stevec/cdn/cloudflare/purge'
import { verifyDoors } from '@stevec/cdn/cloudflare/verify'
import { createEdge } from '@stevec/cdn/edge'
import { startFake, TOKEN } from '@stevec/cdn/test/fake/cloudflare'
import { startDoors } from '../doors.js'
import { keepVerified } from '../../src/cloudflare/verified.js'
import { createSandbox, json, trialsOf } from '../helper.js'

/** The fake's zone: the host of the emulated edge's door cached. */
const ZONE = 'wiki.localhost'

describe('the experiments through a zone', () => {
  // The fake serves the API and the emulated edge the pages: the edge carries out each purge that the fake accepts.
  /** @type {Awaited<ReturnType<typeof startDoors>>} */
  let stack
  /** @type {Awaited<ReturnType<typeof startFake>>} */
  let fake
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, string>} */
  let environment
  /** @type {(() => unknown)[]} */
  const ends = []
  before(async () => {
    stack = await startDoors({ CACHE_TTL_S: '180', WRITES_PER_MINUTE: '0' })
    ends.push(stack.stop)
    const edge = createEdge(stack.control)
    fake = await startFake(/** @type {any} */ ({ after: (/** @type {() => unknown} */ end) => ends.push(end) }), {
      zones: [{ name: ZONE }],
      onPurge: async ({ files = [], hosts = [], prefixes = [], tags = [] }) => {
        await edge.purge(files, tags)
        await edge.purgeHosts(hosts)
        await edge.purgePrefixes(prefixes)
      }
    })
    sandbox = await createSandbox()
    ends.push(sandbox.remove)
    environment = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_API_URL: fake.url, CLOUDFLARE_API_TOKEN_FILE: '' }
    const purge = createPurge({ client: createClient({ token: TOKEN, apiUrl: fake.url }), zoneId: fake.zone.id })
    // Like the command, but without waiting three minutes for a page to expire.
    const checks = await verifyDoors({ doors: stack.doors, purge, ageWaitMaxS: 0 })
    assert.deepEqual(checks.filter(({ outcome }) => outcome === 'failed'), [])
    keepVerified(path.join(sandbox.directory, 'state'), {
      zone: ZONE,
      verified_at: new Date().toISOString(),
      ok: true,
      doors: stack.doors,
      checks
    })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const stevec = (/** @type {string[]} */ ...args) => sandbox.stevec(args, environment)
  const folder = (/** @type {RegExp} */ name) =>
    path.join(sandbox.results, readdirSync(sandbox.results).find((entry) => name.test(entry)) ?? 'none')

  test('a wiki that sends another Cache-Control than the experiment needs is neither measured nor edited', async () => {
    const file = sandbox.experiment({
      settings: { pages: 10, page_size_chars: 500, requests: 50, duration_max_s: 60, ttl_s: 60 }
    })
    const { exitCode, stdout, stderr } = await stevec('run', file, '--target', 'cloudflare')
    assert.equal(exitCode, 3, stdout)
    assert.match(
      stderr,
      /wants pages with "Cache-Control: public, max-age=60", and the wiki at http:\/\/source\.localhost:\d+ sends "public, max-age=180".*start it with CACHE_POLICY=ttl CACHE_TTL_S=60/
    )
    assert.equal((await ask(`${stack.doors.source}/wiki/page-000001`)).status, 404)
    assert.throws(() => readdirSync(sandbox.results), /ENOENT/)
  })

  test('read-hot announces its writes, purges before each trial (again after 429), and is valid', async () => {
    fake.fail({ match: /purge_cache/, how: 'status', status: 429, headers: { 'retry-after': '1' } })
    const { exitCode, stdout, stderr } = await stevec('run', 'read-hot', '--target', 'cloudflare', '--repetitions', '1')
    assert.equal(exitCode, 0, stdout + stderr)
    for (const expected of [
      /^through the zone wiki\.localhost, verified 20/m,
      /^ {2}left out: the door local stands on the client's machine/m,
      /^about 3425 requests of at most 50000: 3000 by the probes, 24 to prove caches cold, 101 to write pages, 300 to warm up$/m,
      /^writes page-000001 to page-000100 and cold-proof on the wiki at http:\/\/source\.localhost:\d+; .*\n[^]*wrote 100 pages; warmed up by 300 requests; a read took /m,
      /^purge 1 hosts: .*retrying in 1\.\d s$/m,
      /all 3 trials valid/,
      /^sent 34\d\d requests of at most 50000; the pages stay in the wiki/m,
      /stevec cloudflare analytics --zone wiki\.localhost --run /
    ]) {
      assert.match(stdout, expected)
    }
    assert.doesNotMatch(stdout, /starting|stack/)

    const directory = folder(/-read-hot-/)
    const manifest = json(path.join(directory, 'manifest.json'))
    assert.deepEqual(manifest.target, { kind: 'cloudflare', zone: ZONE, doors: stack.doors })
    assert.deepEqual(
      [
        manifest.status,
        manifest.max_requests,
        manifest.warm_up_requests,
        manifest.config_hashes,
        Object.keys(manifest.doors)
      ],
      ['complete', 50_000, 300, {}, ['cached', 'nocache', 'source']]
    )
    assert.equal(
      manifest.verification.checks.find((/** @type {{id: string}} */ { id }) => id === 'purge_host').outcome,
      'ok'
    )
    assert.doesNotMatch(JSON.stringify(manifest), new RegExp(TOKEN))

    const trials = Object.fromEntries(trialsOf(directory).map((trial) => [trial.door, trial]))
    const distinct = manifest.plans[0].distinct_pages
    assert.deepEqual(
      Object.entries(trials)
        .sort()
        .map(([door, { counter, counter_expected: expected, pops, log_lines: lines }]) => [
          door, counter.requests, expected, pops, lines
        ]),
      [
        ['cached', distinct, null, { LJU: 1000 }, {}],
        ['nocache', 1000, 1000, { LJU: 1000 }, {}],
        ['source', 1000, 1000, {}, {}]
      ]
    )
    const { purge_ms: purgeMs, ...proof } = trials.cached.cold_proof
    assert.ok(purgeMs >= 0)
    assert.deepEqual(proof, { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2, pop: 'LJU' })
    for (const { name, door } of Object.values(trials)) {
      assert.deepEqual(
        readdirSync(path.join(directory, 'trials', name)).sort(),
        ['machine.csv.gz', 'processes.csv.gz', 'samples.csv.gz', 'trial.json']
      )
      const [header, ...rows] = gunzipSync(readFileSync(path.join(directory, 'trials', name, 'samples.csv.gz')))
        .toString().trim().split('\n')
      assert.match(header, /,revision,pop$/)
      assert.deepEqual([...new Set(rows.map((row) => row.split(',').at(-1)))], [door === 'source' ? '' : 'LJU'])
    }
  })

  test('analytics fetches Cloudflare\'s counts, which equal ours in each trial', async () => {
    const directory = folder(/-read-hot-/)
    for (const line of readFileSync(path.join(stack.directory, 'edge/access.log'), 'utf8').trim().split('\n')) {
      const { time_s: timeS, host, cache_status: cacheStatus, sent_bytes: bytes } = JSON.parse(line)
      fake.traffic.push({
        zone: fake.zone.id,
        host,
        at: new Date(1000 * Math.floor(timeS)).toISOString(),
        cacheStatus: cacheStatus.toLowerCase(),
        bytes
      })
    }
    const fetched = await stevec('cloudflare', 'analytics', '--zone', ZONE, '--run', directory)
    assert.equal(fetched.exitCode, 0, fetched.stderr)
    assert.match(fetched.stdout, /in 2 of 2 trials Cloudflare counted exactly the requests that we sent/)
    const reported = await stevec('report', directory)
    assert.equal(reported.exitCode, 0, reported.stdout + reported.stderr)
    const page = readFileSync(path.join(directory, 'report/index.html'), 'utf8')
    for (const words of [
      'of the 2005 requests that 2 trials sent through it, it has counted 2005, no difference',
      'Requests by point of presence.',
      'No trial met more than one point of presence.',
      'The law of the counter holds in all 3 trials.'
    ]) {
      assert.ok(page.includes(words), words)
    }
    const rows = readFileSync(path.join(directory, 'report/tables/cloudflare.csv'), 'utf8')
      .trim().split('\n').slice(1)
      .map((row) => row.split(','))
    assert.deepEqual([...new Set(rows.map((row) => row[4]))], ['0'], JSON.stringify(rows))
  })

  test('a run is resumed through its zone without --target and --zone', async () => {
    const directory = folder(/-read-hot-/)
    rmSync(path.join(directory, 'trials/0002'), { recursive: true })
    const { exitCode, stdout, stderr } = await stevec('run', '--resume', path.basename(directory))
    assert.equal(exitCode, 0, stdout + stderr)
    assert.match(stdout, /through the zone wiki\.localhost/)
    assert.deepEqual(trialsOf(directory).map(({ valid }) => valid), [true, true, true])
    assert.equal(json(path.join(directory, 'manifest.json')).resumed_at.length, 1)
  })

  test('a study with edits runs through the zone, too', async () => {
    const { exitCode, stdout, stderr } = await stevec(
      'run', 'study', '--only', 'E5,E6', '--repetitions', '1', '--target', 'cloudflare', '--zone', ZONE
    )
    assert.equal(exitCode, 0, stdout + stderr)
    assert.match(stdout, /on the wiki at .*, and edits them;/)
    const directory = folder(/-study-/)
    assert.equal(json(path.join(directory, 'manifest.json')).target.zone, ZONE)
    const writes = ['write-vs-read-direct', 'write-vs-read-cached'].map((name) =>
      trialsOf(path.join(directory, 'runs', name)).find(({ cell }) => cell.operation === 'write')
    )
    assert.deepEqual(
      writes.map(({ valid, counter }) => [valid, counter]),
      Array(2).fill([true, { requests: 200, reads: 0, writes: 200 }])
    )
    const fetched = await stevec('cloudflare', 'analytics', '--zone', ZONE, '--run', directory)
    assert.equal(fetched.exitCode, 0, fetched.stderr)
    assert.match(
      fetched.stdout,
      /write-vs-read-direct\/cloudflare\.json: no trial went through Cloudflare\n.*write-vs-read-cached\/cloudflare\.json: in 0 of 2 trials.*\nCloudflare has no counts of 2 trials yet/
    )
    const reported = await stevec('report', directory)
    assert.equal(reported.exitCode, 0, reported.stdout + reported.stderr)
    assert.match(readFileSync(path.join(directory, 'report/index.html'), 'utf8'), /of 2 trials it said nothing yet/)
  })
})
