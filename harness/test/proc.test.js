import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  childPids,
  parseProcessorList,
  parseProcessorTimes,
  parseProcessStat,
  readCpuPressure,
  readProcessorTimes,
  readProcessStat,
  readThreads
} from '../src/proc.js'

test('parseProcessStat accepts any process name, and returns null for incomplete text', () => {
  const text = '4711 (a ) R 9 (b) S 1 4712 4711 0 -1 4194560 2000 0 0 0 150 50 300 100 20 0 7 0 123456 5000000 321 ' +
    '1844\n'
  assert.deepEqual(parseProcessStat(text), {
    state: 'S', group: 4712, threads: 7, start_ticks: 123456, cpu_s: 2, ended_children_cpu_s: 4, resident_pages: 321
  })
  assert.equal(parseProcessStat('4711 (cut off) S 1 2'), null)
})

test('parseProcessorTimes reads the times of all processors and counts stolen time as busy', () => {
  const text = 'cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 400 100 200 1000 50 10 40 150 90 9\nintr 1\n'
  assert.deepEqual(parseProcessorTimes(text), { cores: 1, busy_s: 9, interrupt_s: 0.5, idle_s: 10.5, stolen_s: 1.5 })
})

test('only processors that this process may use count', () => {
  const text = ['cpu  9 9 9 9 9 9 9 9', 'cpu0 100 0 0 0', 'cpu1 200 0 0 50', 'cpu10 400 0 0 0'].join('\n')
  const times = (/** @type {Set<number> | null} */ allowed) => {
    const found = parseProcessorTimes(text, allowed)
    return [found?.cores, found?.busy_s, found?.idle_s]
  }
  assert.deepEqual(times(null), [3, 7, 0.5])
  assert.deepEqual(times(new Set([1])), [1, 2, 0.5])
  assert.deepEqual(times(parseProcessorList('0-1,10-11')), [3, 7, 0.5])
  assert.equal(parseProcessorTimes(text, new Set([7])), null)
})

test('stolen time is null for an old kernel; text without a line of a processor gives null', () => {
  assert.deepEqual(
    parseProcessorTimes('cpu  1 2 3 4\ncpu0 1 2 3 4\n'),
    { cores: 1, busy_s: 0.06, interrupt_s: 0, idle_s: 0.04, stolen_s: null }
  )
  for (const text of ['', 'cpu  1 2 3 4 5 6 7 8 9 10\n']) assert.equal(parseProcessorTimes(text), null)
})

test('a running process and its children can be read; for an ended process the result is null', async () => {
  const child = spawn('sleep', ['300'])
  await once(child, 'spawn')
  const pid = /** @type {number} */ (child.pid)
  assert.ok(childPids(process.pid).includes(pid))
  assert.ok(Number(readProcessStat(pid)?.start_ticks) >= Number(readProcessStat('self')?.start_ticks))
  assert.ok(Number(readProcessStat('self')?.cpu_s) > 0)
  child.kill()
  await once(child, 'exit')
  assert.equal(readProcessStat(pid), null)
  assert.deepEqual(childPids(pid), [])
  assert.ok(!childPids(process.pid).includes(pid))
})

test('readProcessorTimes reports busy and idle time of this machine', () => {
  const times = readProcessorTimes()
  assert.ok(times !== null && times.busy_s > 0 && times.idle_s > 0)
})

test('the threads of a process have their processor time and their time in the run queue', () => {
  const before = readThreads(process.pid)
  const main = (/** @type {typeof before} */ threads) => threads.find(({ tid }) => tid === process.pid)
  const usage = process.cpuUsage()
  while (process.cpuUsage(usage).user < 200_000) Math.sqrt(2)
  const after = readThreads(process.pid)
  assert.ok(before.length > 1, 'Node has several threads')
  assert.ok(Number(main(after)?.cpu_s) - Number(main(before)?.cpu_s) > 0.1)
  assert.ok(Number(main(after)?.run_queue_s) >= Number(main(before)?.run_queue_s))
  assert.deepEqual(readThreads(2 ** 22 + 1), [])
})

test('the pressure on the processors is a time, or null on a kernel that does not report it', () => {
  const pressureS = readCpuPressure()
  assert.ok(pressureS === null || pressureS >= 0)
})
