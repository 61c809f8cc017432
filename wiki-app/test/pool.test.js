import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import test from 'node:test'
import { createPool } from '../src/threads/pool.js'
import { LOADING_MS } from './fixtures/chores.js'

const CPU_MAX_MS = 200
const FOREVER_MS = 2 ** 30
const skip = process.platform === 'linux' ? false : 'needs /proc, for the CPU time of a thread'

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<Parameters<typeof createPool>[0]>} [options]
 */
function poolFor (t, options = {}) {
  const pool = createPool({
    filename: new URL('fixtures/chores.js', import.meta.url).href,
    threads: { min: 1, max: 1 },
    cpuMaxMs: CPU_MAX_MS,
    wallMaxMs: 300_000,
    waitingMax: 100,
    ...options
  })
  t.after(pool.close)
  return pool
}

const nothing = { do: 'nothing' }
const forever = { do: 'sleep', ms: FOREVER_MS }
const retry = { 'retry-after': '2' }
const busy = { statusCode: 503, code: 'WIKI_THREADS_BUSY', headers: retry, message: /too busy.*try again/ }
const tooCostly = { statusCode: 422, code: 'WIKI_TASK_TOO_COSTLY', message: /more than 0\.2 s of processor time/ }

test('the limit of a task applies to its CPU time, not to its wall time', { skip }, async (t) => {
  const { run } = poolFor(t)
  await run({ do: 'sleep', ms: 5 * CPU_MAX_MS })
  await run({ do: 'burn', ms: CPU_MAX_MS / 2 })
  await assert.rejects(run({ do: 'burn', ms: FOREVER_MS }), tooCostly)
  await run(nothing)
})

test('time to load modules or to wait for the thread does not count as CPU time of a task', { skip }, async (t) => {
  assert.ok(LOADING_MS > CPU_MAX_MS)
  const { run } = poolFor(t)
  await Promise.all(Array.from({ length: 10 }, () => run({ do: 'burn', ms: CPU_MAX_MS / 2 })))
})

test('tasks that exceed the wall time, including the wait, are refused with 503', async (t) => {
  const { run } = poolFor(t, { wallMaxMs: 2_000 })
  const outcomes = [run(forever), run(nothing)].map((outcome) => assert.rejects(outcome, busy))
  await Promise.all(outcomes)
  const patient = poolFor(t)
  assert.ok(await patient.run(nothing), 'another pool still works')
})

test('the number of tasks in the pool and their bytes are limited', async (t) => {
  const { run } = poolFor(t, { waitingMax: 3, waitingMaxBytes: 100 })
  const held = [60, 30].map((bytes) => assert.rejects(run(forever, { bytes }), busy))
  await assert.rejects(run(nothing, { bytes: 11 }), busy)
  const third = assert.rejects(run(nothing, { bytes: 10 }), busy)
  await assert.rejects(run(nothing), busy)
  const alone = poolFor(t, { waitingMaxBytes: 100 })
  assert.ok(await alone.run(nothing, { bytes: 101 }), 'a task above the limit of bytes runs if it is alone')
  t.after(() => Promise.all([...held, third]))
})

test('tasks that yield leave a thread free for other tasks', async (t) => {
  const { run } = poolFor(t, { threads: { min: 1, max: 2 } })
  const yielding = Array.from({ length: 5 }, () => assert.rejects(run(forever, { yields: true }), busy))
  for (let count = 0; count < 3; count++) assert.ok(await run(nothing))
  t.after(() => Promise.all(yielding))
})

test('threads run at a lower priority than the main thread, and a warm thread is kept', { skip }, async (t) => {
  const ownNiceness = getPriority()
  // As in a process that was started with nice(1).
  setPriority(Math.min(ownNiceness + 6, constants.priority.PRIORITY_LOW - 1))
  t.after(() => {
    try {
      setPriority(ownNiceness)
    } catch {
      // Only root may raise a priority again.
    }
  })
  const { run, warm } = poolFor(t, { idleMs: 1 })
  await warm()
  const first = await run(nothing)
  const niceness = (/** @type {number} */ id) =>
    Number(readFileSync(`/proc/self/task/${id}/stat`, 'latin1').split(') ')[1].split(' ')[16])
  assert.ok(niceness(first.id) > niceness(process.pid))
  await new Promise((resolve) => { setTimeout(resolve, 100) })
  assert.deepEqual(await run(nothing), first)
})

test('a task that fails or takes too much memory does not affect the next task', async (t) => {
  const { run } = poolFor(t, { cpuMaxMs: 120_000, heap: { oldMib: 32, youngMib: 4 } })
  await assert.rejects(run({ do: 'fail' }), { name: 'RangeError', message: 'no such chore' })
  await assert.rejects(run({ do: 'hoard' }), { statusCode: 422, message: /too much memory/ })
  assert.ok(await run(nothing))
})

test('closing a pool rejects its running and queued tasks and all later ones', async (t) => {
  const { run, warm, close } = poolFor(t)
  const warming = warm()
  const left = [run(forever), run(nothing)].map((outcome) => assert.rejects(outcome, busy))
  await close()
  await Promise.all([...left, warming])
  await assert.rejects(run(nothing), busy)
  await warm()
})
