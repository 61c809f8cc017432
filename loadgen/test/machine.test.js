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
 * @param {{others?: number, stolen?: number, interrupts?: number, held_up?: number}} [besides]
 * @returns {import('../src/machine/reading.js').Reading[]}
 */
function readings (seconds, { others = 0, stolen = 0, interrupts = 0, held_up: heldUp = 0 } = {}) {
  const names = /** @type {Part[]} */ ([...new Set(seconds.flatMap((parts) => Object.keys(parts)))])
  const at = (/** @type {number} */ second) => {
    const used = (/** @type {Part} */ part) => seconds.slice(0, second)
      .reduce((sum, parts) => sum + (parts[part]?.cores ?? 0), 0)
    const busyS = names.reduce((sum, name) => sum + used(name), 0) + (others + stolen + interrupts) * second
    return {
      at_us: (1000 + second) * 1e6,
      at_s: second,
      processors: {
        cores: CORES,
        busy_s: busyS,
        interrupt_s: interrupts * second,
        idle_s: CORES * second - busyS,
        stolen_s: stolen * second
      },
      pressure_s: 0.25 * second,
      held_up_s: heldUp * second,
      processes: new Map(names.map((part, index) => {
        const count = seconds.find((parts) => parts[part])?.[part]?.threads ?? 1
        const thread = { cpu_s: used(part) / count, run_queue_s: 0.1 * second }
        const threads = new Map(Array.from({ length: count }, (_, tid) => [tid, thread]))
        return [index + 1, { name: part, part, parent: null, cpu_s: used(part), ended_s: 0, threads }]
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
const limitOf = (parts, options = {}) => saturationOf(readings(steady(parts)), options)?.limit

describe('the limit of a trial', () => {
  test('is nothing where no part used what it may use', () => {
    const found = saturationOf(readings(steady({ generator: { cores: 1 }, wiki: { cores: 0.85 } })), {})
    assert.equal(found?.limit, 'nothing')
    assert.equal(found?.evidence, 'the cores were 46 % busy: k6 25 %, the wiki 21 %')
    assert.equal(found?.disturbed, null)
    assert.deepEqual(
      [found?.sampled_s, found?.busy_cores, found?.idle_cores, found?.stolen_cores, found?.pressure_ratio],
      [3, 1.85, 2.15, 0, 0.25]
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
    assert.equal(saturationOf(all, {})?.limit, 'generator')
    const during = { fromUs: 1002.9e6, untilUs: 1005.1e6 }
    assert.deepEqual([saturationOf(all, during)?.limit, saturationOf(all, during)?.sampled_s], ['wiki', 2])
  })

  test('of a load shorter than the seconds that it touches is not known', () => {
    const all = readings([{ wiki: { cores: 0.1 } }, { wiki: { cores: 0.95 } }, { wiki: { cores: 0.1 } }])
    assert.equal(saturationOf(all, { fromUs: 1001.3e6, untilUs: 1001.6e6 }), null)
    assert.equal(saturationOf(all, { fromUs: 1000.9e6, untilUs: 1002.1e6 })?.limit, 'wiki')
  })

  test('is not known without readings', () => {
    assert.equal(saturationOf([], {}), null)
    assert.equal(saturationOf(readings([]), {}), null)
  })
})

test('a trial is disturbed by others and by the host that took a tenth of the cores, and by a thread held up', () => {
  const found = (/** @type {object} */ besides) =>
    saturationOf(readings(steady({ wiki: { cores: 0.5 } }), besides), {})?.disturbed
  assert.equal(found({ others: 0.3, stolen: 0.3, interrupts: 0.5, held_up: 0.05 }), null)
  assert.equal(found({ others: 0.5 }), 'other processes had 13 % of the cores')
  assert.equal(found({ stolen: 0.5 }), 'the host gave 13 % of the cores to others')
  assert.equal(found({ held_up: 0.2 }), 'a thread that only has to wake up was held up for 20 % of the time')
})

describe('the processor time of a process that ends', () => {
  const parts = { lab: { cores: 0.1 }, generator: { cores: 1 } }
  const [begin, end] = readings([parts, parts]).slice(1)
  const lab = /** @type {import('../src/machine/reading.js').ProcessReading} */ (end.processes.get(1))
  const generator = /** @type {import('../src/machine/reading.js').ProcessReading} */ (begin.processes.get(2))
  const child = { ...generator, parent: 1 }
  const began = { ...begin, processes: new Map(begin.processes).set(2, child) }
  const coresOf = (/** @type {ReturnType<typeof intervalBetween>} */ { processes, others_cores: others }) => {
    const all = { ...Object.fromEntries([...processes].map(([name, use]) => [name, use.cpu_cores])), others }
    return Object.fromEntries(Object.entries(all).map(([name, cores]) => [name, Math.round(100 * cores) / 100]))
  }

  test('is its own until the end, though its parent takes it over', () => {
    const processes = new Map([[1, { ...lab, ended_s: 2 }]])
    assert.deepEqual(coresOf(intervalBetween(began, { ...end, processes })), { lab: 0.1, generator: 1, others: 0 })
  })

  test('is lost if nothing takes it over, and what others used is no less for it', () => {
    const busyS = begin.processors.busy_s + 0.1
    const killed = { ...end, processors: { ...end.processors, busy_s: busyS }, processes: new Map([[1, lab]]) }
    assert.deepEqual(coresOf(intervalBetween(began, killed)), { lab: 0.1, generator: 0, others: 0 })
  })

  test('is not counted twice if another process of the same name follows', () => {
    const processes = new Map([[1, { ...lab, ended_s: 1.5 }], [3, { ...child, cpu_s: 0.5 }]])
    assert.deepEqual(coresOf(intervalBetween(began, { ...end, processes })), { lab: 0.1, generator: 1, others: 0 })
  })
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
    return cpu + Number(waited)
  }
  assert.ok(wanted('works') > 0.5 && wanted('works') > 4 * wanted('sleeps'), `${wanted('works')}, ${wanted('sleeps')}`)
  assert.ok(idle + busy > 0 && idle + busy < 1.5 * availableParallelism())
})
