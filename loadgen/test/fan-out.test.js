import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { delaysOf, showingsOf } from '../src/fan-out/delays.js'
import { watchFeeds, wholeList } from '../src/fan-out/feeds.js'
import { compareLists, problemsOfFeeds } from '../src/fan-out/judge-feeds.js'
import { sampleOf, watcherName } from '../src/fan-out/people.js'
import { contradiction } from '../src/lab/contradiction.js'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { createSandbox, samplesOf, trialsOf } from './helper.js'

const SAVES = 6
const WATCHERS = 1_200
const WAYS = ['in-request', 'on-queue', 'on-read']
const WAIT_MAX_MS = 30_000
const SETTINGS = Object.freeze({
  ...{ resource: 'watched-page', edit_ratio: 1, model: 'open', rate_per_s: 4, vus: 4, requests: SAVES, pages: 2 },
  ...{ page_size_chars: 500, connection_reuse: true, policy: 'no-store', timeout_s: 30 }
})

describe('trials of watched pages', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, any>[]} */
  let trials
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      settings: SETTINGS,
      factors: { watchers: [WATCHERS], fan_out: WAYS },
      presets: { quick: { repetitions: 1 } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
    assert.equal(exitCode, 0, stdout + stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => {
    assert.deepEqual(sandbox.processes(), [])
    sandbox.remove()
  })

  test('are valid: each of twenty lists has each change once, and all items are written', () => {
    assert.deepEqual(trials.map(({ cell }) => cell.fan_out).sort(), WAYS)
    for (const { cell, valid, fan_out: found, counter, statuses } of trials) {
      assert.ok(valid, cell.fan_out)
      assert.deepEqual(statuses, { POST: { 200: SAVES } })
      assert.deepEqual(counter, { requests: SAVES, reads: 0, writes: SAVES }, 'without the looks')
      const { acknowledged, lists_judged: judged, missing, twice, never_shown: never, looks_failed: failed } = found
      assert.deepEqual({ acknowledged, judged, missing, twice, never, failed },
        { acknowledged: SAVES, judged: 20, missing: 0, twice: 0, never: 0, failed: 0 }, cell.fan_out)
      assert.equal(found.items_written, cell.fan_out === 'on-read' ? 0 : SAVES * WATCHERS)
      assert.equal(found.shown, 3 * SAVES)
      assert.ok(found.delay_p50_ms <= found.delay_p95_ms && found.delay_p95_ms <= found.delay_max_ms)
      assert.ok(found.looks >= 3 && found.look_cpu_ms > 0 && found.wiki_cpu_s > 0 && found.database_cpu_s > 0)
    }
  })

  test('keep when each list that was looked at showed each change, and no token', () => {
    for (const { name, fan_out: found } of trials) {
      const folder = path.join(directory, 'trials', name)
      assert.equal(samplesOf(folder, 'feeds.csv.gz').length, found.shown)
      assert.ok(!readdirSync(folder).some((file) => file.includes('users')))
    }
  })
})

/**
 * A wiki whose list has these changes, two a part, the newest first.
 * @param {import('node:test').TestContext} t @param {{changes: string[]}} list
 */
async function startLists (t, list) {
  const server = createServer((request, response) => {
    const first = Number(new URL(request.url ?? '', 'http://wiki').searchParams.get('cursor') ?? 0)
    const items = list.changes.slice(first, first + 2).map((change) => {
      const [name, revision] = change.split(' ')
      return { name, revision: Number(revision) }
    })
    const next = first + 2 < list.changes.length ? String(first + 2) : null
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ items, next_cursor: next }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

const FINE = { is_done: true, set_aside: 0, items_written: 4, items_expected: { least: 4, most: 4 } }

test('a list that misses a change, or shows it twice, makes a trial invalid', async (t) => {
  const acknowledged = ['a 2', 'b 2', 'a 3', 'b 3']
  const whole = [...acknowledged].reverse()
  const judge = async (/** @type {string[]} */ changes) => {
    const list = await wholeList(await startLists(t, { changes }), 'token')
    return problemsOfFeeds(compareLists(acknowledged, [{ watcher: 'w', changes: list }]), FINE)
  }
  assert.deepEqual(await judge(whole), [])
  assert.deepEqual(await judge([...whole, 'a 1', 'b 1']), [], 'what was there before')
  assert.deepEqual(await judge(whole.filter((change) => change !== 'b 2')), ['1 change missing in a list: w: b 2'])
  assert.deepEqual(await judge([...whole.slice(0, 3), 'a 3', 'a 2']), ['1 change twice in a list: w: a 3'])
  assert.deepEqual(await judge([]), ['4 changes missing in a list: w: a 2; w: b 2; w: a 3; …'])
})

test('a queue that is not empty, or has given up, and too few or too many items make a trial invalid', () => {
  const right = { missing: [], twice: [] }
  for (const [facts, problem] of /** @type {[object, string][]} */ ([
    [{ is_done: false }, 'after two minutes the queue was not empty'],
    [{ set_aside: 2 }, 'the queue gave up 2 tasks'],
    [{ items_written: 3 }, '3 items written, expected 4 to 4'],
    [{ items_written: 5 }, '5 items written, expected 4 to 4']
  ])) assert.deepEqual(problemsOfFeeds(right, { ...FINE, ...facts }), [problem])
})

test('looks note when a change is first seen, and a change that is never seen is counted', async (t) => {
  const list = { changes: ['a 1'] }
  const url = await startLists(t, list)
  let nowUs = 1_000_000
  const watchers = [{ name: 'w', token: 'token' }, { name: 'x', token: 'token' }]
  const feeds = watchFeeds({ url, watchers, everyMs: 5, nowUs: () => nowUs })
  t.after(feeds.stop)
  const all = (/** @type {string} */ change) =>
    waitUntil(() => feeds.seen.every(({ at }) => at.has(change)), WAIT_MAX_MS)
  assert.ok(await all('a 1'))
  nowUs = 2_000_000
  list.changes.unshift('a 2')
  assert.ok(await all('a 2'))
  await feeds.stop()
  const acknowledged = new Map([['a 2', 1_400_000], ['a 1', 1_100_000], ['a 3', 1_500_000]])
  const delays = delaysOf(showingsOf(acknowledged, feeds.seen))
  // The list had the first one before its answer came.
  assert.deepEqual(delays, {
    ...{ shown: 4, never_shown: 2, delay_mean_ms: 300, delay_p50_ms: 300, delay_p95_ms: 600, delay_max_ms: 600 }
  })
  assert.equal(delaysOf([]).delay_mean_ms, null)
})

test('the first and the last watcher are in each sample', () => {
  assert.deepEqual(sampleOf(1, 3), [watcherName(0)])
  assert.deepEqual(sampleOf(2, 3), [0, 1].map(watcherName))
  assert.deepEqual(sampleOf(10_000, 3), [0, 5_000, 9_999].map(watcherName))
  assert.equal(sampleOf(10_000, 20).length, 20)
})

test('settings of watched pages that contradict each other are refused', () => {
  const watched = { ...DEFAULT_SETTINGS, ...SETTINGS, watchers: 10 }
  const of = (/** @type {object} */ changed) => contradiction(/** @type {any} */ ({ ...watched, ...changed }))
  assert.equal(of({}), null)
  for (const [changed, said] of /** @type {[object, RegExp][]} */ ([
    [{ watchers: 0 }, /has at least one of watchers/],
    [{ edit_ratio: 0.5 }, /only saves, in the open model/],
    [{ model: 'closed', rate_per_s: null }, /only saves, in the open model/],
    [{ wikis: 2 }, /one wiki of their own: wikis must be 1, not 2/],
    [{ door: 'cached' }, /saves of watched pages go past doors/],
    [{ database: '$MINE' }, /a database of its own/],
    [{ requests: 2_000 }, /a list keeps 1000 changes/]
  ])) assert.match(String(of(changed)), said)
  const page = { ...DEFAULT_SETTINGS, watchers: 1 }
  assert.match(String(contradiction(page)), /watchers and fan_out are for resource watched-page/)
})
