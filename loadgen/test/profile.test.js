import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { hostFingerprint, writeCalibration } from '../src/profile/calibration-file.js'
import { nextShare, nextTimes, serviceTime } from '../src/calibrate/fit.js'
import { toxicsOf } from '../src/profile/links.js'
import { loadProfile, profileNames, readProfile } from '../src/profile/profile.js'
import { request } from '@stevec/harness/request'
import { createSandbox, samplesOf, trialsOf } from './helper.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-profile-'))
after(() => rmSync(directory, { recursive: true }))

const none = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/profiles/none.json'), 'utf8'))

/**
 * @param {unknown} content
 * @param {string} [name]
 */
function file (content, name = 'mine.json') {
  const target = path.join(directory, name)
  writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content))
  return target
}

describe('a profile', () => {
  test('that is bundled follows the schema and has the name of its file', () => {
    assert.deepEqual(profileNames(), ['banana-pi', 'none', 'quarter-core'])
    for (const name of profileNames()) assert.equal(readProfile(name).profile.name, name)
  })

  test('named `none` sets no limit and reports no limit as missing', () => {
    const { applied, missing, calibration } = loadProfile('none', { stateDirectory: directory })
    assert.deepEqual(
      { applied, missing, calibration },
      { applied: { cpu: false, memory: false, links: false }, missing: [], calibration: null }
    )
    assert.deepEqual(Object.values(toxicsOf(none)).flat(), [])
  })

  test('can be a file of the user', () => {
    const { name, asked, applied } = loadProfile(
      file({ ...none, name: 'far', links: { ...none.links, client_edge_rtt_ms: 80 } }),
      { stateDirectory: directory }
    )
    assert.equal(name, 'far')
    assert.equal(asked.links.client_edge_rtt_ms, 80)
    assert.equal(applied.links, true)
  })

  for (const [what, content, message] of /** @type {[string, unknown, RegExp][]} */ ([
    ['is not JSON', '{"name": ', /mine\.json is not JSON/],
    ['is a list', [], /profile must be object/],
    [
      'has a value out of range and an unknown property',
      { ...none, name: 'far', client: { overhead_ms: -1, colour: 'red' } },
      /profile\/client must NOT have additional properties \(colour\).*profile\/client\/overhead_ms must be >= 0/
    ],
    [
      'has the one bandwidth of older profiles',
      { ...none, name: 'far', links: { uplink_mbit_per_s: 50 } },
      /required property 'origin_uplink_mbit_per_s'.*additional properties \(uplink_mbit_per_s\)/
    ],
    ['lacks its links', { ...none, name: 'far', links: undefined }, /must have required property 'links'/],
    [
      'has a CPU share below the smallest that the kernel can enforce',
      { ...none, name: 'far', origin: { ...none.origin, cpu_share: 0.0001 } },
      /cpu_share must be >= 0\.001/
    ],
    [
      'has less memory than a database needs',
      { ...none, name: 'far', origin: { ...none.origin, memory_bytes: 1_000_000 } },
      /memory_bytes must be >= 402653184/
    ],
    ['has a path as its name', { ...none, name: '../../etc' }, /profile\/name must match pattern/],
    [
      'has the name of a bundled profile',
      { ...none, name: 'banana-pi' },
      /the name "banana-pi" is that of a bundled profile/
    ],
    ['is larger than 64 KiB', `"${'x'.repeat(70_000)}"`, /is larger than 65536 bytes/]
  ])) {
    test(`that ${what} is refused with the reason`, () => {
      assert.throws(() => readProfile(file(content)), message)
    })
  }

  test('that does not exist is refused with the list of those that do, and no process starts', async () => {
    const sandbox = await createSandbox()
    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [
        ['up', '--profile', 'raspberry'],
        /there is no profile "raspberry"; the profiles are: banana-pi, none, quarter-core, or the path of a file/
      ],
      [['up', '--profile', './nowhere.json'], /there is no profile file \.\/nowhere\.json/],
      [['calibrate', '--profile', 'none'], /the profile none has no "calibration"/]
    ])) {
      const { exitCode, stderr } = await sandbox.stevec(args)
      assert.equal(exitCode, 2)
      assert.match(stderr, message)
    }
    assert.deepEqual(sandbox.processes(), [])
    sandbox.remove()
  })
})

describe('a wiki that is up with a profile', () => {
  test('responds at each door no faster than its links, origin and client allow, and prints the profile', async () => {
    const sandbox = await createSandbox()
    const links = { ...none.links, client_edge_rtt_ms: 40, client_origin_rtt_ms: 60, edge_origin_rtt_ms: 20 }
    const far = file(
      {
        ...none,
        name: 'far',
        title: 'Far away',
        origin: { ...none.origin, delay_ms: 100 },
        links,
        client: { overhead_ms: 10 }
      },
      'far.json'
    )
    const up = await sandbox.stevec(['up', '--profile', far, '--policy', 'ttl'])
    assert.equal(up.exitCode, 0, up.stderr)
    assert.match(
      up.stderr,
      /profile far: Far away \(round trips 40\/60\/20 ms .*100 ms at the origin, 10 ms at the client\)/
    )
    const { doors } = JSON.parse((await sandbox.stevec(['status', '--json'])).stdout)
    const read = async (/** @type {string} */ door) => {
      const startedAt = performance.now()
      const { status, headers } = await request(`${doors[door].url}/wiki/Hello`)
      assert.equal(status, 200)
      return { took: performance.now() - startedAt, cache: headers['cf-cache-status'] ?? headers['x-cache-status'] }
    }
    await request(`http://127.0.0.1:${sandbox.ports.wiki}/wiki/Hello`, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: '# Hello'
    })
    // Each request opens a new connection to the first hop; connections behind it may be open already.
    for (const [door, cache, least] of /** @type {const} */ ([
      ['source', undefined, 10 + 2 * 60 + 100],
      ['nocache', 'BYPASS', 10 + 2 * 40 + 20 + 100],
      ['cached', 'MISS', 10 + 2 * 40 + 20 + 100],
      ['cached', 'HIT', 10 + 2 * 40],
      ['local', 'MISS', 10 + 60 + 100],
      ['local', 'HIT', 10]
    ])) {
      const { took, cache: found } = await read(door)
      assert.equal(found, cache, door)
      assert.ok(took >= least, `${door} ${cache}: ${took} ms, at least ${least}`)
    }
    const other = await sandbox.stevec(['up', '--profile', 'none'])
    assert.equal(other.exitCode, 2)
    assert.match(other.stderr, /already up, with the profile far; run `stevec down` first/)
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    sandbox.remove()
  })
})

describe('a run with a profile', () => {
  test('sends bodies at the client\'s rate, and pauses where the experiment states no pause', async () => {
    const sandbox = await createSandbox()
    const slow = file({
      ...none,
      name: 'slow',
      links: { ...none.links, client_uplink_mbit_per_s: 0.8 },
      client: { overhead_ms: 0, pause_s: 0.1 }
    }, 'slow.json')
    const mine = sandbox.experiment({
      settings: { pages: 3, page_size_chars: 10_000, requests: 10, edit_ratio: 0.5 },
      factors: { client: { plain: { door: 'cached' }, own: { door: 'cached', pause_s: 0 } } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', mine, '--profile', slow, '--json'])
    assert.equal(exitCode, 0, stdout + stderr)
    const { directory: results } = JSON.parse(stdout)
    const trials = trialsOf(results)
    assert.deepEqual(
      Object.fromEntries(trials.map(({ cell, settings }) => [cell.client, settings.pause_s])),
      { plain: 0.1, own: 0 }
    )
    for (const { name, cell } of trials) {
      const rows = samplesOf(path.join(results, 'trials', name))
      const writes = rows.filter(({ method }) => method === 'POST')
      assert.ok(writes.length > 0 && writes.every(({ durationMs }) => durationMs >= 100), JSON.stringify(writes))
      const pauses = rows.slice(1).map(({ sentAtUs }, index) => (sentAtUs - rows[index].doneAtUs) / 1000)
      // k6 stamps a sample some microseconds after the response.
      if (cell.client === 'plain') assert.ok(pauses.every((ms) => ms > 99), String(pauses))
      else assert.ok(pauses.some((ms) => ms < 99), String(pauses))
    }
    sandbox.remove()
  })
})

describe('a calibration', () => {
  const { sha256 } = readProfile('banana-pi')
  const fitted = { cpu_share: 0.2, delay_ms: 11, overhead_ms: 6, client_edge_rtt_ms: 8 }
  /** @type {import('../src/profile/calibration-file.js').Calibration} */
  const calibration = {
    schema_version: 1,
    profile: 'banana-pi',
    profile_sha256: sha256,
    experiment: 'read-hot',
    calibrated_at: '2026-01-02T03:04:05.000Z',
    host: hostFingerprint(),
    fitted
  }
  const load = (/** @type {string} */ stateDirectory) => loadProfile('banana-pi', { stateDirectory })
  let number = 0
  const state = () => path.join(directory, `state-${number++}`)

  test('replaces the profile\'s initial values, on the machine that it was made on', () => {
    const stateDirectory = state()
    writeCalibration(stateDirectory, calibration)
    const profile = load(stateDirectory)
    assert.deepEqual(profile.calibration, { experiment: 'read-hot', run: '2026-01-02T03:04:05.000Z', fitted })
    assert.deepEqual(
      [
        profile.asked.origin.cpu_share, profile.asked.origin.delay_ms, profile.asked.client.overhead_ms,
        profile.asked.links.client_edge_rtt_ms
      ],
      [0.2, 11, 6, 8]
    )
    assert.equal(profile.asked.links.client_origin_rtt_ms, readProfile('banana-pi').profile.links.client_origin_rtt_ms)
    assert.ok(!profile.missing.some((sentence) => /not calibrated/.test(sentence)))
  })

  for (const [what, change, reason] of /** @type {[string, Record<string, unknown>, RegExp][]} */ ([
    [
      'of another machine',
      { host: { ...hostFingerprint(), cpu_model: 'Zilog Z80' } },
      /another machine \(cpu_model Zilog Z80, here /
    ],
    [
      'of another version of the profile',
      { profile_sha256: 'sha256:0' },
      /the profile was changed after it was fitted/
    ],
    ['with an invalid value', { fitted: { ...fitted, delay_ms: 'NaN' } }, /cannot be used \(values are missing\)/]
  ])) {
    test(`${what} is ignored, and the profile reports why it is not calibrated`, () => {
      const stateDirectory = state()
      writeCalibration(stateDirectory, /** @type {any} */ ({ ...calibration, ...change }))
      const { calibration: found, missing, asked } = load(stateDirectory)
      assert.equal(found, null)
      assert.equal(asked.origin.delay_ms, readProfile('banana-pi').profile.origin.delay_ms)
      assert.match(String(missing.find((sentence) => /^not calibrated/.test(sentence))), reason)
    })
  }

  test('that is missing or cut off is reported and causes no error', () => {
    const stateDirectory = state()
    assert.match(
      load(stateDirectory).missing.join(),
      /nothing was fitted here yet; run `stevec calibrate --profile banana-pi`/
    )
    mkdirSync(path.join(stateDirectory, 'profiles'), { recursive: true })
    writeFileSync(path.join(stateDirectory, 'profiles/banana-pi.json'), '{"schema_version": 1, ')
    assert.match(load(stateDirectory).missing.join(), /cannot be used/)
  })
})

describe('the fit', () => {
  const { profile } = readProfile('banana-pi')
  const target = /** @type {NonNullable<typeof profile.calibration>} */ (profile.calibration).mean_ms

  test('finds the three unknown times of a system in one step', () => {
    const truth = { cpu_share: 0.2, delay_ms: 20, overhead_ms: 7, client_edge_rtt_ms: 9 }
    /**
     * Computes the mean times of E1: every request takes the client's time; with a cache, a tenth reach the origin.
     * @type {(times: typeof truth) => {source: number, local: number, cached: number}}
     */
    const e1 = ({ delay_ms: delay, overhead_ms: overhead, client_edge_rtt_ms: roundTrip }) => ({
      source: overhead + 34 + 12 + delay,
      local: overhead + 0.1 * (17 + 12 + delay),
      cached: overhead + 2 * roundTrip + 0.1 * (10 + 12 + delay)
    })
    const start = { ...truth, delay_ms: 3, overhead_ms: 1, client_edge_rtt_ms: 30 }
    assert.deepEqual(nextTimes(start, e1(truth), e1(start)), truth)
  })

  test('returns no negative time', () => {
    const { delay_ms: delay, overhead_ms: overhead } = nextTimes(
      { cpu_share: 0.2, delay_ms: 1, overhead_ms: 0, client_edge_rtt_ms: 9 },
      target,
      { source: 500, local: 60, cached: 100 }
    )
    assert.ok(delay >= 0 && overhead >= 0)
  })

  test('derives from E1 alone that the board needs about 30 ms for a page', () => {
    const serviceMs = serviceTime(profile, profile.client.overhead_ms, 8_000)
    assert.ok(serviceMs > 28 && serviceMs < 36, String(serviceMs))
  })

  test('scales the CPU share by target ÷ measured responses, within bounds', () => {
    assert.equal(nextShare(0.1, 60, 30, 2), 0.2)
    assert.equal(nextShare(0.1, 60, 0, 2), 0.4)
    assert.equal(nextShare(1, 1000, 100, 2), 2)
  })
})
