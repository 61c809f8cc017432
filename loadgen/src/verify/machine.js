import os from 'node:os'
import { Worker } from 'node:worker_threads'
import { readProcessorTimes } from '@stevec/harness/proc'
import { childrenCpuSeconds } from '../lab/generator.js'

/** Share of the cores, or of the time: if other processes take more, measured times differ from the known ones. */
const DISTURBED_SHARE = 0.1
/** A thread that wakes up later than this was stalled; shorter delays are normal for a timer. */
const PAUSE_MIN_MS = 20

/**
 * A thread that sleeps and measures how long it slept: what stalls it stalls every process here, and this process is
 * not the cause (jHiccup, https://github.com/giltene/jHiccup). Atomics.wait sleeps without an event loop, which could
 * itself be late.
 */
const WITNESS = `
const { workerData: { shared, pauseMinMs } } = require('node:worker_threads')
const cells = new Int32Array(shared)
const [STOP, PAUSED_MS] = [0, 1]
let atMs = performance.now()
while (Atomics.wait(cells, STOP, 0, 5) === 'timed-out') {
  const nowMs = performance.now()
  if (nowMs - atMs > pauseMinMs) Atomics.add(cells, PAUSED_MS, Math.round(nowMs - atMs))
  atMs = nowMs
}`

/**
 * Starts to watch how much other processes use the machine. Children of this process count as its own only if they end
 * before the watch does.
 * @returns {() => string | undefined} ends the watch; returns a description of the disturbance if it was too much to
 *   trust any times
 */
export function watchMachine () {
  const begin = read()
  const cells = new Int32Array(new SharedArrayBuffer(8))
  const witness = new Worker(WITNESS, { eval: true, workerData: { shared: cells.buffer, pauseMinMs: PAUSE_MIN_MS } })
  witness.unref()
  return () => {
    Atomics.store(cells, 0, 1)
    Atomics.notify(cells, 0)
    const end = read()
    const wallS = end.atS - begin.atS
    const others = (end.busyS - begin.busyS - (end.oursS - begin.oursS)) / (wallS * os.availableParallelism())
    const paused = Atomics.load(cells, 1) / 1000 / wallS
    return others > DISTURBED_SHARE || paused > DISTURBED_SHARE
      ? `others had ${percent(Math.max(0, others))} of the cores, and all was held up for ${percent(paused)} of the time`
      : undefined
  }
}

function read () {
  const processors = /** @type {import('@stevec/harness/proc').ProcessorTimes} */ (readProcessorTimes())
  const own = process.cpuUsage()
  return {
    atS: performance.now() / 1000,
    busyS: processors.busy_s,
    oursS: (own.user + own.system) / 1e6 + childrenCpuSeconds()
  }
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(0)} %`
