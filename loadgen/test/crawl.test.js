import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { crawlFacts, isCrawled, limitedBySweep, readCrawl, startCrawl, sweepOf } from '../src/lab/crawl.js'
import { refuseUnlimitedCrawl } from '../src/lab/crawl-capacity.js'
import { contradiction } from '../src/lab/contradiction.js'
import { loadDefinition } from '../src/lab/definition.js'
import { createGenerators } from '../src/lab/generator.js'
import { keepLogs, LOG_ROLES, waitForLogLines } from '../src/lab/logs.js'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { readProfile } from '../src/profile/profile.js'

const K6 = {
  ...{ exit_code: 0, message: null, wall_s: 55, generator_cpu_s: 9 },
  ...{ generator_cpu_share: 0.1, stolen_cpu_share: null }
}
const CRAWLERS = { ...DEFAULT_SETTINGS, door: /** @type {const} */ ('cached'), revisions: 5, crawl_times_capacity: 10 }

/** @param {string} method @param {string} uri @param {number} status  a line of an access log */
const lineOf = (method, uri, status) => `${JSON.stringify({ time: 'now', method, uri, status })}\n`

const LINES = [
  lineOf('GET', '/history/page-000001?before=3', 200),
  lineOf('GET', '/revision/page-000001/2', 503),
  lineOf('GET', '/difference/page-000001?from=1&to=2', 503),
  lineOf('GET', '/wiki/page-000001', 200),
  lineOf('POST', '/wiki/page-000001', 200),
  // A page of that name is one that people read.
  lineOf('GET', '/wiki/history/', 200),
  lineOf('GET', '/wiki/a"uri":"/history/b', 404)
]

/** @param {import('node:test').TestContext} t */
function folder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-crawl-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

test('crawlers ask for old texts, histories and differences, and people for none of them', async (t) => {
  assert.deepEqual(LINES.map(isCrawled), [true, true, true, false, false, false, false])
  const file = path.join(folder(t), 'access.log')
  writeFileSync(file, `${lineOf('GET', '/history/before-the-trial', 200)}${LINES.join('')}`)
  const start = lineOf('GET', '/history/before-the-trial', 200).length
  assert.deepEqual(await readCrawl(file, start), { statuses: { 200: 1, 503: 2 }, reads: 3, writes: 1 })
})

test('a trial with crawlers counts and keeps their lines apart', async (t) => {
  const directory = folder(t)
  for (const role of LOG_ROLES) {
    mkdirSync(path.join(directory, role))
    writeFileSync(path.join(directory, role, 'access.log'), role === 'edge' ? LINES.join('') : '')
  }
  const starts = { edge: 0, origin: 0, local: 0 }
  assert.equal((await waitForLogLines(directory, starts, { edge: 7, origin: 0, local: 0 })).edge, 7)
  const expected = { edge: 4, origin: 0, local: 0 }
  assert.equal((await waitForLogLines(directory, starts, expected, { withCrawlers: true })).edge, 4)
  await keepLogs(directory, starts, directory, true)
  const kept = (/** @type {string} */ name) => gunzipSync(readFileSync(path.join(directory, name))).toString()
  assert.equal(kept('edge.log.gz'), LINES.slice(3).join(''), 'the witnesses compare these')
  assert.equal(kept('edge-crawl.log.gz'), LINES.slice(0, 3).join(''))
})

test('crawlers that are not there in time make the trial invalid, with the reason', async (t) => {
  const directory = folder(t)
  const interrupt = new AbortController()
  const generators = createGenerators(interrupt.signal)
  t.after(() => generators.stop())
  const small = { pages: 10, timeout_s: 1, duration_max_s: 1, url: 'http://127.0.0.1:9' }
  const probe = /** @type {any} */ ({ ...CRAWLERS, ...small })
  const start = (/** @type {number} */ askedPerS, /** @type {number} */ readyTimeoutMs) => startCrawl({
    ...{ generators, probe, directory, signal: interrupt.signal, readyTimeoutMs },
    sweep: { capacity_per_s: 1, asked_per_s: askedPerS, seconds: 6 }
  })
  await assert.rejects(start(10, 1), /k6 had not all of its 10000 clients within 0.001 s/)
  await assert.rejects(start(0, 60_000), /k6 ended with \d+ before it had its 10000 clients: .*rate/)
  interrupt.abort(new Error('interrupted'))
  await assert.rejects(start(10, 60_000), /interrupted/)
})

test('a sweep asks for several times the capacity, and one that k6 did not send is limited by it', () => {
  const sweep = sweepOf({ crawl_times_capacity: 10, duration_max_s: 50 }, 21.456)
  assert.deepEqual(sweep, { capacity_per_s: 21.456, asked_per_s: 215, seconds: 55 })
  const sent = crawlFacts({ sweep, k6: K6 }, { 200: 1000, 503: 10_825 })
  assert.deepEqual([sent.sent_per_s, sent.sent_times_capacity], [215, 10.021])
  const saturation = /** @type {any} */ ({ limit: 'wiki', evidence: 'the wikis used 99 %' })
  assert.equal(limitedBySweep(saturation, sent), saturation)
  assert.equal(limitedBySweep(saturation, undefined), saturation)
  assert.equal(limitedBySweep(null, { ...sent, sent_per_s: 100 }), null)
  assert.deepEqual(limitedBySweep(saturation, { ...sent, sent_per_s: 204 }), {
    limit: 'generator', evidence: 'crawlers sent 204 of 215 requests a second; the wikis used 99 %'
  })
})

test('crawlers need old texts, an edge whose log shows them, and a wiki with a share of a core', () => {
  const says = (/** @type {Partial<typeof DEFAULT_SETTINGS>} */ changed) => contradiction({ ...CRAWLERS, ...changed })
  assert.equal(says({}), null)
  assert.match(says({ revisions: 2 }) ?? '', /raise revisions to 3 or more/)
  assert.equal(says({ revisions: 1, crawl_times_capacity: 0 }), null)
  for (const changed of /** @type {Partial<typeof DEFAULT_SETTINGS>[]} */ ([
    { door: 'source' }, { edges: 2 }, { cache: 'nginx' }, { protocol: 'https' }, { background_vus: 5 }
  ])) assert.match(says(changed) ?? '', /crawlers are for the door cached/, JSON.stringify(changed))

  const crawlers = [loadDefinition('crawlers', 'quick')]
  const profileOf = (/** @type {string} */ name, cpu = false) => /** @type {any} */ (
    { name, asked: readProfile(name).profile, applied: { cpu }, missing: ['limiting the CPU needs root'] }
  )
  const none = { profile: profileOf('none'), zone: null }
  assert.throws(() => refuseUnlimitedCrawl(crawlers, none), /share of a core only.*add --profile quarter-core/)
  const unable = { profile: profileOf('quarter-core'), zone: null }
  assert.throws(() => refuseUnlimitedCrawl(crawlers, unable), /cannot limit .*needs root.*run it as root/)
  const zone = { ...none, zone: { zone: 'example.com' } }
  assert.throws(() => refuseUnlimitedCrawl(crawlers, zone), /leave --target out/)
  refuseUnlimitedCrawl(crawlers, { profile: profileOf('quarter-core', true), zone: null })
  refuseUnlimitedCrawl(crawlers, { ...none, origin: 'board' })
  refuseUnlimitedCrawl([loadDefinition('read-hot', 'quick')], none)
})
