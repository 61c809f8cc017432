import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { waitUntil } from '@stevec/harness/processes'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { compare, comparisonLines } from '../src/replay/comparison.js'
import { startEdge } from '../src/replay/edge.js'
import { meetPurges } from '../src/replay/met-purges.js'
import { startOrigin, WARM_UP_PATH } from '../src/replay/origin.js'
import { createPages } from '../src/replay/pages.js'
import { replay } from '../src/replay/replay.js'
import { withPurges } from '../src/replay/schedule.js'

/** @import {Met} from '../src/replay/met-purges.js' */
/** @import {Family, Plan, ReplayClass, ReplayEvent} from '../src/replay/schedule.js' */

const WAIT_MAX_MS = 60_000

/** @param {import('node:test').TestContext} t */
function folderFor (t) {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-replay-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * A class with one page: its setting, the times of its reads and edits in ms, and what comes of them.
 * @typedef {{family: Family, lifetime_s?: number, window_s?: number, purge_delay_s?: number, reads: number[],
 *   edits: number[], fetches: number, stale: number}} Case
 */

/** @param {Case[]} cases @returns {{plan: Plan, events: ReplayEvent[]}} */
function scheduleOf (cases) {
  const classes = cases.map((one) => ({
    name: one.family,
    setting: one.family,
    family: one.family,
    lifetime_s: one.lifetime_s ?? null,
    window_s: one.window_s ?? 0,
    purge_delay_s: one.purge_delay_s ?? null,
    reads: one.reads.length,
    edits: one.edits.length,
    model: { fetches: one.fetches, stale: one.stale, oldest_s: 0 }
  }))
  const plan = {
    begin_s: 0,
    window_s: 6,
    reads_in_window: classes.reduce((sum, one) => sum + one.reads, 0),
    pages_in_window: cases.length,
    pages: cases.length,
    requests_per_s_max: 200,
    classes
  }
  const events = cases.flatMap((one, number) => [
    ...one.edits.map((at) => ({ at_ms: at, kind: /** @type {const} */ ('edit'), class: number, page: 0 })),
    ...one.reads.map((at) => ({ at_ms: at, kind: /** @type {const} */ ('read'), class: number, page: 0, url: 0 }))
  ])
  events.sort((one, other) => one.at_ms - other.at_ms)
  return { plan, events: withPurges(plan, events) }
}

test('an edge does with each family of settings what the model says', async (t) => {
  // The order of reads, edits and purges is kept. Only ends of lifetimes depend on times: a second and more away.
  const cases = /** @type {Case[]} */ ([
    { family: 'none', reads: [0, 100, 200], edits: [150], fetches: 3, stale: 0 },
    { family: 'revalidate', reads: [0, 100, 300, 400], edits: [200], fetches: 4, stale: 0 },
    { family: 'ttl', lifetime_s: 3, reads: [0, 300, 500, 5000, 5100], edits: [400], fetches: 2, stale: 1 },
    { family: 'swr', lifetime_s: 2, window_s: 86_400, reads: [0, 4000, 5500], edits: [500], fetches: 2, stale: 1 },
    {
      family: 'purge',
      lifetime_s: 86_400,
      purge_delay_s: 1,
      reads: [0, 400, 700, 2000, 2200],
      edits: [500, 2100],
      fetches: 2,
      stale: 2
    },
    {
      family: 'bounded',
      lifetime_s: 86_400,
      purge_delay_s: 2,
      reads: [0, 400, 700, 3000, 3200],
      edits: [500, 3100],
      fetches: 2,
      stale: 2
    }
  ])
  const signal = new AbortController().signal
  const { classes, purges_that_met_a_fetch: met, agree } =
    await replay({ schedule: scheduleOf(cases), folder: folderFor(t), signal })
  for (const [number, { name, reads, failed, measured }] of classes.entries()) {
    const { fetches, stale } = cases[number]
    assert.deepEqual([name, reads, failed], [cases[number].family, cases[number].reads.length, 0])
    assert.deepEqual([measured.fetches, measured.stale], [fetches, stale], name)
    assert.equal(measured.oldest_s > 0, stale > 0, name)
  }
  assert.deepEqual(met.map(({ family, before, fresh }) => [family, before, fresh]), [
    ['purge', 'head', true], ['purge', 'body', true], ['bounded', 'head', true], ['bounded', 'body', true]
  ])
  assert.ok(agree)
})

test('two requests and 1 % of the reads are the largest difference, and a read without an answer is one', () => {
  const { plan } = scheduleOf([{ family: 'ttl', lifetime_s: 1, reads: [0], edits: [], fetches: 10, stale: 0 }])
  const compared = (
    /** @type {number} */ reads, /** @type {number} */ fetches, stale = 0, failed = 0, met = /** @type {Met[]} */ ([])
  ) => {
    const classes = plan.classes.map((one) => ({ ...one, reads }))
    return compare({ ...plan, classes }, {
      fetches: [fetches],
      seen: [{ reads, failed, stale, oldest_ms: 0 }],
      met,
      late_max_ms: 0
    })
  }
  assert.deepEqual([12, 13, 7].map((fetches) => compared(100, fetches).agree), [true, false, false])
  assert.deepEqual([15, 16].map((fetches) => compared(500, fetches).agree), [true, false])
  assert.equal(compared(100, 10, 3).agree, false)
  assert.equal(compared(100, 10, 0, 1).agree, false)
  assert.equal(comparisonLines(compared(100, 13)).at(-1),
    'edge and model do not agree: the largest difference is 3 of 100 reads (ttl)')
  assert.equal(comparisonLines(compared(100, 10)).at(-1), 'edge and model agree: no count differs')
  assert.equal(comparisonLines(compared(100, 10, 0, 1)).at(-1),
    'edge and model do not agree: 1 read got no answer, and no count differs')
  const lost = compared(100, 10, 0, 0, [{ family: 'purge', before: 'body', fresh: false }])
  assert.equal(lost.agree, false)
  assert.deepEqual(comparisonLines(lost).slice(-2), [
    'purge: a purge came before the body of an answer, and A READ AFTER IT GOT THE OLD VERSION',
    'edge and model do not agree: a purge lost against a fetch'
  ])
})

test('a purge that meets a fetch and does nothing is found', async (t) => {
  const { plan } = scheduleOf([
    { family: 'purge', lifetime_s: 60, purge_delay_s: 1, reads: [0], edits: [], fetches: 1, stale: 0 }
  ])
  const signal = new AbortController().signal
  const found = await freePorts(3)
  const [port, controlPort, originPort] = found
  const pages = createPages()
  const origin = await startOrigin({ port: originPort, classes: plan.classes, pages, purgeLog: null })
  t.after(async () => {
    await origin.close()
    await releasePorts(found)
  })
  const edge = await startEdge({
    directory: folderFor(t), ports: { port, controlPort, originPort }, readyPath: WARM_UP_PATH, signal
  })
  t.after(edge.stop)
  const met = await meetPurges({ plan, origin, port, pages, purge: async () => {}, signal })
  assert.deepEqual(met.map(({ before, fresh }) => [before, fresh]), [['head', false], ['body', false]])
})

/**
 * Five minutes and more: a page that is edited each second; one that is edited now and then, with most reads after
 * 200 s; and pages that are read once.
 * @param {string} folder
 * @returns {string} its file
 */
function writeLog (folder) {
  const begin = Date.UTC(2026, 10, 25)
  const lines = Array.from({ length: 310 }, (_, second) => {
    const time = new Date(begin + second * 1000).toISOString()
    const line = (/** @type {string} */ method, /** @type {string} */ url) =>
      `h - - [25/Nov/2026:${time.slice(11, 19)} +0000] "${method} ${url} HTTP/1.1" 200 9`
    const reads = Array.from({ length: second >= 200 && second < 204 ? 12 : 3 }, () => line('GET', '/wiki/A'))
    const edit = second % 40 === 1 ? [line('POST', '/wiki/A')] : []
    return [
      line('GET', '/news/A'), line('POST', '/news/A'), line('GET', '/news/A'), line('GET', `/once/${second}`),
      ...reads.slice(0, 2), ...edit, ...reads.slice(2)
    ]
  })
  const file = path.join(folder, 'access.log')
  writeFileSync(file, lines.flat().join('\n'))
  return file
}

test('stevec advise --replay plays the busiest part of a log, and edge and model agree', (t) => {
  const log = writeLog(folderFor(t))
  const args = ['advise', '--replay', '4s', '--max-age', '30s', '--json', log]
  const { status, stdout, stderr } = spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const { replay: { classes, agree, begin_s: beginS }, limits } = JSON.parse(stdout)
  assert.equal(limits.oldest_max_s, 30)
  assert.ok(agree)
  assert.ok(beginS > 199 && beginS < 201)
  /** @type {Record<string, ReplayClass & {measured: import('../src/replay/schedule.js').Counts}>} */
  const byName = Object.fromEntries(classes.map((/** @type {{name: string}} */ one) => [one.name, one]))
  assert.deepEqual(Object.values(byName).map(({ name, setting }) => [name, setting]).sort(),
    [['/news/', 'ttl 30 s'], ['/once/', 'none'], ['/wiki/', 'purge 86400 s']])
  for (const { name, reads, measured, model } of classes) {
    assert.deepEqual([measured.fetches, measured.stale], [model.fetches, model.stale], name)
    assert.ok(reads >= 4, name)
  }
  assert.equal(byName['/news/'].measured.fetches, 1)
  assert.equal(byName['/wiki/'].measured.fetches, 2)
  assert.ok(byName['/wiki/'].measured.stale > 0 && byName['/news/'].measured.stale > 0)
})

test('the settings for another cache are played as well: swr answers at once, and asks behind the reader', (t) => {
  const folder = folderFor(t)
  const [file, edits] = ['access.csv', 'edits.csv'].map((name) => path.join(folder, name))
  // A read each 0.7 s: with a lifetime of 4 s, each seventh comes 0.2 s after its end.
  const reads = Array.from({ length: 90 }, (_, index) => `${1_764_000_000 + index * 0.7},/wiki/A`)
  writeFileSync(file, reads.join('\n'))
  writeFileSync(edits, `${1_764_000_020.1},/wiki/A`)
  const args = [
    'advise', file, '--trace-params', 'time-col=1,obj-id-col=2', '--edits', edits, '--max-age', '5s', '--for', 'nginx',
    '--least', 'waits', '--replay', '12s'
  ]
  const { status, stdout, stderr } = spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /^\* is the advice for a stock nginx;/m)
  assert.match(stdout, /^ {2}\* swr 4 \+ 1 s /m)
  const [, model] = /^ {2}\S+ +swr 4 \+ 1 s +\d+ +\d+ +(\d+) /m.exec(stdout) ?? []
  assert.equal(model, '3')
  assert.match(stdout, /edge and model agree/)
})

test('an interrupt ends the edge and removes its folder', async (t) => {
  const folder = folderFor(t)
  const args = ['advise', writeLog(folder), '--replay', '--max-age', '30s']
  const child = spawn(path.join(ROOT, 'stevec'), args, { env: { ...process.env, TMPDIR: folder } })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let stdout = ''
  child.stdout.on('data', (data) => { stdout += data })
  const pid = await waitUntil(() => {
    const name = readdirSync(folder).find((one) => one.startsWith('stevec-replay-'))
    const file = path.join(folder, name ?? '', 'edge/nginx.pid')
    return existsSync(file) && Number(readFileSync(file, 'utf8'))
  }, WAIT_MAX_MS)
  assert.ok(pid && existsSync(`/proc/${pid}`))
  child.kill('SIGINT')
  assert.deepEqual(await ended, [130, null])
  assert.match(stdout, /this takes 30 s/)
  assert.equal(existsSync(`/proc/${pid}`), false)
  assert.deepEqual(readdirSync(folder), ['access.log'])
})

test('--replay is refused with --cache, and takes a time or none', (t) => {
  const log = writeLog(folderFor(t))
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [['--replay', log, '--cache', 'nginx'], /--replay a comparison: give one of them/],
    [['--replay', '11min', log], /at most 600 s/],
    [['--replay', '30', log], /a time such as/]
  ])) {
    const command = path.join(ROOT, 'stevec')
    const { status, stdout, stderr } = spawnSync(command, ['advise', '--stale', '1%', ...args], { encoding: 'utf8' })
    assert.deepEqual([status, stdout], [2, ''])
    assert.match(stderr, message)
  }
})
