import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  childPids, parseProcessorTimes, parseProcessStat, readCpuPressure, readProcessorTimes, readProcessStat, readThreads
} from '../src/proc.js'

test('parseProcessStat accepts any process name, and returns null for incomplete text', () => {
  const text = '4711 (a ) R 9 (b) S 1 4712 4711 0 -1 4194560 2000 0 0 0 150 50 300 100 20 0 7 0 123456 5000000 321 1844\n'
  assert.deepEqual(parseProcessStat(text), {
    state: 'S', group: 4712, threads: 7, start_ticks: 123456, cpu_s: 2, ended_children_cpu_s: 4, resident_pages: 321
  })
  assert.equal(parseProcessStat('4711 (cut off) S 1 2'), null)
})

test('parseProcessorTimes reads the times of all processors and counts stolen time as busy', () => {
  const text = 'cpu  400 100 200 1000 50 10 40 150 90 9\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n'
  assert.deepEqual(parseProcessorTimes(text), { busy_s: 9, idle_s: 10.5, stolen_s: 1.5 })
})

test('stolen time is the eighth number in the line of all processors', () => {
  const text = 'cpu  4606750 674707 607677 4162098 48158 0 74539 233677 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n'
  assert.equal(parseProcessorTimes(text)?.stolen_s, 2336.77)
})

test('stolen time is null for an old kernel; text without the line of all processors gives null', () => {
  assert.deepEqual(parseProcessorTimes('cpu  1 2 3 4\n'), { busy_s: 0.06, idle_s: 0.04, stolen_s: null })
  for (const text of ['', 'cpu0 1 2 3 4 5 6 7 8 9 10\n']) assert.equal(parseProcessorTimes(text), null)
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
