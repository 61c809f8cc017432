import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readProcessStat } from '@stevec/harness/proc'
import { waitUntil } from '@stevec/harness/processes'
import { saturationOf } from '../src/machine/saturation.js'
import { intervalBetween } from '../src/machine/usage.js'
import { watchMachine } from '../src/machine/watch.js'

const BUSY_PROCESS = fileURLToPath(new URL('../src/verify/busy-process.js', import.meta.url))
const LONG_MS = 120_000
const CORES = 4

/** @typedef {import('../src/machine/reading.js').Part} Part */
/** Cores that a part uses, in one thread or in several. @typedef {{cores: number, threads?: number}} Using */

/**
 * Readings of a machine of four cores, a second apart, from 1000 s since 1970 on.
 * @param {Partial<Record<Part, Using>>[]} seconds  who used what in each second
 * @param {{others?: number, held_up?: number}} [besides]
 */
function readings (seconds, { others = 0, held_up: heldUp = 0 } = {}) {
  const at = (/** @type {number} */ second) => {
    const names = /** @type {Part[]} */ ([...new Set(seconds.flatMap((parts) => Object.keys(parts)))])
    const used = (/** @type {Part} */ part) => seconds.slice(0, second)
      .reduce((sum, parts) => sum + (parts[part]?.cores ?? 0), 0)
    const busyS = names.reduce((sum, name) => sum + used(name), 0) + others * second
    return {
      at_us: (1000 + second) * 1e6,
      at_s: second,
      processors: { busy_s: busyS, idle_s: CORES * second - busyS, stolen_s: null },
      pressure_s: 0.25 * second,
      held_up_s: heldUp * second,
      ended_s: 0,
      processes: new Map(names.map((part) => {
        const count = seconds.find((parts) => parts[part])?.[part]?.threads ?? 1
        const thread = { cpu_s: used(part) / count, run_queue_s: 0.1 * second }
        return [part, {
          part, cpu_s: used(part), threads: new Map(Array.from({ length: count }, (_, tid) => [`1/${tid}`, thread]))
        }]
      }))
    }
  }
  return Array.from({ length: seconds.length + 1 }, (_, second) => at(second))
}

/** @param {Partial<Record<Part, Using>>} parts */
const steady = (parts) => Array.from({ length: 3 }, () => parts)

/**
 * @param {Partial<Record<Part, Using>>} parts
 * @param {object} [options]
 */
const limitOf = (parts, options) => saturationOf(readings(steady(parts)), { cores: CORES, ...options })?.limit

describe('the limit of a trial', () => {
  test('is nothing where no part used what it may use', () => {
    const found = saturationOf(readings(steady({ generator: { cores: 1 }, wiki: { cores: 0.85 } })), { cores: CORES })
    assert.equal(found?.limit, 'nothing')
    assert.equal(found?.evidence, 'the cores were 46 % busy: k6 25 %, the wiki 21 %')
    assert.equal(found?.disturbed, null)
    assert.deepEqual(
      [found?.sampled_s, found?.busy_cores, found?.idle_cores, found?.stolen_cores, found?.pressure_ratio],
      [3, 1.85, 2.15, null, 0.25]
    )
    assert.deepEqual(found?.parts.wiki, { cpu_cores: 0.85, busiest_thread_cores: 0.85, run_queue_cores: 0.1 })
  })

  test('is a part of which one thread is always at work, though cores are idle', () => {
    for (const part of /** @type {const} */ (['edge', 'origin', 'wiki', 'database', 'links'])) {
      assert.equal(limitOf({ generator: { cores: 0.5 }, [part]: { cores: 0.95 } }), part)
      assert.equal(limitOf({ generator: { cores: 0.5 }, [part]: { cores: 0.95, threads: 2 } }), 'nothing')
    }
  })

  test('is the generator from 70 % of the cores on', () => {
    assert.equal(limitOf({ generator: { cores: 2.9, threads: 8 } }), 'generator')
    assert.equal(limitOf({ generator: { cores: 2.7, threads: 8 }, wiki: { cores: 0.5 } }), 'nothing')
  })

  test('of a machine without idle cores is what used more than half of them, if that only measures', () => {
    const rest = { wiki: { cores: 0.95 }, database: { cores: 0.9, threads: 9 } }
    assert.equal(limitOf({ generator: { cores: 2, threads: 8 }, ...rest }), 'generator')
    assert.equal(limitOf({ links: { cores: 2, threads: 8 }, ...rest }), 'links')
    assert.equal(limitOf({ generator: { cores: 1.5, threads: 8 }, links: { cores: 0.5 }, ...rest }), 'machine')
  })

  test('under a profile is the part that used most of the origin\'s quota', () => {
    const parts = { generator: { cores: 0.5 }, wiki: { cores: 0.2 }, origin: { cores: 0.1 }, database: { cores: 0.15 } }
    assert.equal(limitOf(parts, { quotaCores: 0.48 }), 'wiki')
    assert.equal(limitOf(parts, { quotaCores: 0.6 }), 'nothing')
  })

  test('is the origin if the cores of its own machine were busy', () => {
    assert.equal(limitOf({ generator: { cores: 0.5 } }, { remoteOriginShare: 0.95 }), 'origin')
    assert.equal(limitOf({ generator: { cores: 0.5 } }, { remoteOriginShare: 0.5 }), 'nothing')
  })

  test('counts only the seconds in which requests were under way', () => {
    const start = { generator: { cores: 4, threads: 8 } }
    const load = { generator: { cores: 0.5 }, wiki: { cores: 0.95 } }
    const all = readings([start, start, start, load, load, start])
    assert.equal(saturationOf(all, { cores: CORES })?.limit, 'generator')
    const during = { cores: CORES, fromUs: 1002.9e6, untilUs: 1005.1e6 }
    assert.deepEqual([saturationOf(all, during)?.limit, saturationOf(all, during)?.sampled_s], ['wiki', 2])
  })

  test('of a load shorter than a second is judged by the seconds that it touches', () => {
    const all = readings([{ wiki: { cores: 0.1 } }, { wiki: { cores: 0.95 } }, { wiki: { cores: 0.1 } }])
    const during = { cores: CORES, fromUs: 1001.3e6, untilUs: 1001.6e6 }
    assert.deepEqual([saturationOf(all, during)?.limit, saturationOf(all, during)?.sampled_s], ['wiki', 1])
  })

  test('is not known without readings', () => {
    assert.equal(saturationOf([], { cores: CORES }), null)
    assert.equal(saturationOf(readings([]), { cores: CORES }), null)
  })
})

test('a trial is disturbed by others that used a tenth of the cores, and by a thread that was held up', () => {
  const found = (/** @type {object} */ besides) =>
    saturationOf(readings(steady({ wiki: { cores: 0.5 } }), besides), { cores: CORES })?.disturbed
  assert.equal(found({ others: 0.3 }), null)
  assert.equal(found({ others: 0.5 }), 'other processes had 13 % of the cores')
  assert.equal(found({ held_up: 0.05 }), null)
  assert.equal(found({ held_up: 0.2 }), 'a thread that only has to wake up was held up for 20 % of the time')
})

test('a child that ends within a second used its processor time itself, not this process or others', () => {
  const lab = { cores: 0.1 }
  const [begin, end, last] = readings([{ generator: { cores: 1 }, lab }, { generator: { cores: 0.6 }, lab }])
  const afterwards = { part: /** @type {const} */ ('lab'), cpu_s: 1.8, threads: new Map() }
  const ended = { ...last, ended_s: 1.6, processes: new Map([['lab', afterwards]]) }
  const intervals = /** @type {const} */ ([[intervalBetween(begin, end), 1], [intervalBetween(end, ended), 0.6]])
  for (const [interval, used] of intervals) {
    const cores = (/** @type {string} */ name) => Math.round(1e6 * (interval.processes.get(name)?.cpu_cores ?? 0)) / 1e6
    assert.deepEqual([cores('generator'), cores('lab'), Math.round(1e6 * interval.others_cores)], [used, 0.1, 0])
  }
})

test('a real process that always works is found with one thread at its limit, and one that sleeps is not', async () => {
  const [works, sleeps] = [fork(BUSY_PROCESS, []), fork(BUSY_PROCESS, ['1'])]
  await Promise.all([once(works, 'spawn'), once(sleeps, 'spawn')])
  const processes = /** @type {import('../src/machine/reading.js').WatchedProcess[]} */ ([
    { name: 'works', pid: works.pid, part: 'wiki' }, { name: 'sleeps', pid: sleeps.pid, part: 'edge' }
  ])
  const watch = watchMachine(() => processes)
  await waitUntil(() => (readProcessStat(Number(works.pid))?.cpu_s ?? 0) > 1, LONG_MS)
  const found = watch.stop()
  works.kill()
  sleeps.kill()
  assert.ok(found.length >= 3)
  const { idle_cores: idle, busy_cores: busy, processes: uses } = intervalBetween(found[0], found[found.length - 1])
  // A busy machine may give it little: what it wants is what it got and what it waited for.
  const wanted = (/** @type {string} */ name) => {
    const { cpu_cores: cpu, run_queue_cores: waited } = /** @type {import('../src/machine/usage.js').Use} */ (
      uses.get(name))
    return cpu + waited
  }
  assert.ok(wanted('works') > 0.5 && wanted('works') > 4 * wanted('sleeps'), `${wanted('works')}, ${wanted('sleeps')}`)
  assert.ok(idle + busy > 0 && idle + busy < 1.5 * availableParallelism())
})
