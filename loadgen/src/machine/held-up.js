import { Worker } from 'node:worker_threads'

/** A thread that wakes up later than this was held up; shorter delays are normal for a timer. */
const DELAY_MIN_MS = 20

/**
 * A thread that only sleeps and measures how long it slept: what holds it up holds up every process here (jHiccup,
 * https://github.com/giltene/jHiccup). Atomics.wait sleeps without an event loop, which could itself be late.
 */
const SLEEPER = `
const { workerData: { shared, delayMinMs } } = require('node:worker_threads')
const cells = new Int32Array(shared)
const [STOP, HELD_UP_MS] = [0, 1]
let atMs = performance.now()
while (Atomics.wait(cells, STOP, 0, 5) === 'timed-out') {
  const nowMs = performance.now()
  if (nowMs - atMs > delayMinMs) Atomics.add(cells, HELD_UP_MS, Math.round(nowMs - atMs))
  atMs = nowMs
}`

/** Starts the thread. */
export function startSleeper () {
  const cells = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(SLEEPER, { eval: true, workerData: { shared: cells.buffer, delayMinMs: DELAY_MIN_MS } })
  worker.unref()
  return {
    /** @returns {number} seconds that it was held up since its start */
    heldUpS: () => Atomics.load(cells, 1) / 1000,
    stop () {
      Atomics.store(cells, 0, 1)
      Atomics.notify(cells, 0)
    }
  }
}
