import createError from '@fastify/error'
import { Piscina } from 'piscina'
import { retryAfter } from '../http/retry-after.js'
import { cpuTicks, MS_PER_TICK } from './thread-time.js'

/** A task takes more CPU time, or memory, than it may: the fault of its input. */
export const TooCostly = createError(
  'WIKI_TASK_TOO_COSTLY', 'This takes more than %s s of processor time, or too much memory.', 422
)
const Busy = createError(
  'WIKI_THREADS_BUSY', 'The machine is too busy for this just now. Nothing was done; try again in a moment.', 503
)

/** How often running tasks are checked. */
const LOOK_MS = 50
const THREAD = new URL('thread.js', import.meta.url).href
const IDLE_MS = 30_000
const MIB = 1_048_576
const HEAP = { oldMib: 256, youngMib: 16 }

/**
 * @typedef {object} Job
 * @property {any} task
 * @property {number} bytes
 * @property {boolean} yields
 * @property {Int32Array} clock  the thread's id and its CPU time in ticks when the task started; 0 before that
 * @property {AbortController} abort
 * @property {number} startedMs  when the main thread first saw it run
 * @property {(result: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {boolean} running
 */

/**
 * Runs one function in other threads, with limits for each task. The CPU limit covers the task alone: waiting for a
 * thread, loading modules and other programs on the machine do not count (docs/decisions/0018).
 * @param {object} options
 * @param {string} options.filename  URL of the module whose default export runs a task and returns a cloneable value
 * @param {{min: number, max: number}} options.threads  `min` are kept
 * @param {number} options.cpuMaxMs  CPU time of one task; wall time where there is no /proc
 * @param {number} options.wallMaxMs  from `run` on, including the wait: only a far too busy machine needs so long
 * @param {number} options.waitingMax  running and queued tasks
 * @param {number} [options.waitingMaxBytes]  of all of them
 * @param {number} [options.idleMs]  after which threads beyond `min` end
 * @param {{oldMib: number, youngMib: number}} [options.heap]  of each thread
 */
export function createPool ({
  filename, threads, cpuMaxMs, wallMaxMs, waitingMax, waitingMaxBytes = 64 * MIB, idleMs = IDLE_MS, heap = HEAP
}) {
  /** @type {Piscina | undefined} */
  let piscina
  let closed = false
  /**
   * Running and queued jobs.
   * @type {Set<Job>}
   */
  const jobs = new Set()
  /** @type {Job[]} */
  const waiting = []
  let running = 0
  let yielding = 0
  let bytesNow = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  const yieldingMax = Math.max(1, threads.max - 1)

  // Errors of idle threads are ignored: a dead one is replaced. If a thread dies during a task, the task rejects with
  // the reason.
  const start = () => (piscina ??= new Piscina({
    filename: THREAD,
    workerData: { filename },
    minThreads: threads.min,
    maxThreads: threads.max,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: heap.oldMib, maxYoungGenerationSizeMb: heap.youngMib }
  }).on('error', noop))

  function next () {
    while (running < threads.max && waiting.length > 0) {
      const index = waiting.findIndex((job) => !job.yields || yielding < yieldingMax)
      if (index === -1) return
      begin(waiting.splice(index, 1)[0])
    }
  }

  /** @param {Job} job */
  async function begin (job) {
    job.running = true
    running++
    if (job.yields) yielding++
    timer ??= setInterval(look, LOOK_MS).unref()
    try {
      job.resolve(await start().run({ task: job.task, clock: job.clock }, { signal: job.abort.signal }))
    } catch (error) {
      job.reject(closed ? busy() : reasonOf(job, error))
    }
    running--
    if (job.yields) yielding--
    next()
    if (running > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Aborts each task that has used up its CPU time. */
  function look () {
    for (const job of jobs) if (job.running && cpuMs(job) > cpuMaxMs) job.abort.abort(new TooCostly(cpuMaxMs / 1000))
  }

  /** @param {Job} job */
  function reasonOf ({ abort: { signal } }, /** @type {any} */ error) {
    if (signal.aborted) return signal.reason
    return error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TooCostly(cpuMaxMs / 1000) : error
  }

  /**
   * @template Result
   * @param {any} task  a cloneable value
   * @param {{bytes?: number, yields?: boolean}} [options]  `bytes`: held while it waits; tasks that yield leave one of
   *   several threads to the others
   * @returns {Promise<Result>}
   * @throws {Error} 422 when it takes too much CPU time or memory; 503 when too many wait, or it is not done in
   *   `wallMaxMs`; what the task throws
   */
  async function run (task, { bytes = 0, yields = false } = {}) {
    if (closed || jobs.size >= waitingMax || (jobs.size > 0 && bytesNow + bytes > waitingMaxBytes)) throw busy()
    /** @type {Job} */
    const job = {
      task,
      bytes,
      yields,
      clock: new Int32Array(new SharedArrayBuffer(8)),
      abort: new AbortController(),
      startedMs: 0,
      running: false,
      resolve: noop,
      reject: noop
    }
    const done = new Promise((resolve, reject) => Object.assign(job, { resolve, reject }))
    jobs.add(job)
    bytesNow += bytes
    const backstop = setTimeout(() => giveUp(job), wallMaxMs).unref()
    waiting.push(job)
    next()
    try {
      return await done
    } finally {
      clearTimeout(backstop)
      jobs.delete(job)
      bytesNow -= bytes
    }
  }

  /** @param {Job} job */
  function giveUp (job) {
    if (job.running) return job.abort.abort(busy())
    waiting.splice(waiting.indexOf(job), 1)
    job.reject(busy())
  }

  return {
    run,

    /** Resolves when the threads that are kept have loaded their modules. */
    async warm () {
      if (closed) return
      const ready = Array.from({ length: threads.min }, () => start().run(null))
      await Promise.all(ready).catch((error) => { if (!closed) throw error })
    },

    /** Aborts running and queued tasks. */
    async close () {
      closed = true
      for (const job of waiting.splice(0)) job.reject(busy())
      await piscina?.destroy()
    }
  }
}

/** @typedef {ReturnType<typeof createPool>} Pool */

const busy = () => retryAfter(new Busy())
const noop = () => {}

/**
 * @param {Job} job
 * @returns {number} milliseconds since the task started, in steps of 10; 0 before that
 */
function cpuMs (job) {
  const id = Atomics.load(job.clock, 0)
  if (id === 0) return 0
  job.startedMs ||= performance.now()
  if (id < 0) return performance.now() - job.startedMs
  try {
    return (cpuTicks(id) - Atomics.load(job.clock, 1)) * MS_PER_TICK
  } catch {
    // The thread has just ended.
    return 0
  }
}
