import createError from '@fastify/error'
import { Piscina } from 'piscina'
import { retryAfter } from '../http/retry-after.js'
import { language } from '../language.js'
import { cpuTicks, MS_PER_TICK } from './thread-time.js'

/** The fault of its input. */
export const TooCostly = createError(
  'WIKI_TASK_TOO_COSTLY', 'This takes more than %s s of processor time, or too much memory.', 422
)
const Busy = createError(
  'WIKI_THREADS_BUSY', 'The machine is too busy for this just now. Nothing was done; try again in a moment.', 503
)

/** Without free file descriptors a thread does not start, or does not find its code. */
const NO_THREAD = new Set(['ERR_WORKER_INIT_FAILED', 'EMFILE', 'ENFILE'])
const CHECK_INTERVAL_MS = 50
const THREAD = new URL('thread.js', import.meta.url).href
const IDLE_MS = 30_000
const MIB = 1_048_576
const HEAP = { oldMib: 256, youngMib: 16 }

/**
 * @typedef {object} Job
 * @property {any} task
 * @property {number} bytes
 * @property {boolean} yields
 * @property {number} sinceMs  when it was queued
 * @property {boolean} isLong  a check found it waiting or running for CHECK_INTERVAL_MS
 * @property {Slot | undefined} slot  while it runs
 * @property {(result: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */
/**
 * Used again: creating one costs tens of microseconds.
 * @typedef {object} Slot
 * @property {Int32Array} threadId  the kernel's, shared with the thread; 0 before the task starts, -1 without /proc
 * @property {AbortController} abort
 * @property {number | undefined} cpuStartMs  the thread's CPU time at the first check of the task
 */

/**
 * The CPU limit covers the task alone, from the first check on: 50 ms more at most (docs/decisions/0018).
 * @param {object} options
 * @param {string} options.filename  URL; the default export runs a task and returns a cloneable value
 * @param {{min: number, max: number}} options.threads  `min` are kept
 * @param {number} options.cpuMaxMs  CPU time of one task; wall time where there is no /proc
 * @param {number} options.wallMaxMs  including the wait
 * @param {number} options.waitingMax  running and queued tasks
 * @param {number} [options.waitingMaxBytes]  of all of them
 * @param {number} [options.idleMs]  after which threads beyond `min` end
 * @param {{oldMib: number, youngMib: number}} [options.heap]  of each thread
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createPool ({
  filename, threads, cpuMaxMs, wallMaxMs, waitingMax, waitingMaxBytes = 64 * MIB, idleMs = IDLE_MS, heap = HEAP
}) {
  /** @type {Piscina | undefined} */
  let piscina
  let closed = false
  /** @type {Set<Job>} */
  const jobs = new Set()
  /** @type {Job[]} */
  const waiting = []
  /** @type {Slot[]} */
  const freeSlots = []
  let running = 0
  let yielding = 0
  let long = 0
  let bytesNow = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  const yieldingMax = Math.max(1, threads.max - 1)

  // A dead idle thread is replaced. A task whose thread dies rejects with the reason.
  const start = () => (piscina ??= new Piscina({
    filename: THREAD,
    workerData: { filename, language: language() },
    minThreads: threads.min,
    maxThreads: threads.max,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: heap.oldMib, maxYoungGenerationSizeMb: heap.youngMib }
  }).on('error', noop))

  // Short tasks share a thread, whose code stays warm. A task still there at a check opens another.
  function next () {
    while (running < Math.min(threads.max, 1 + long) && waiting.length > 0) {
      const index = waiting.findIndex((job) => !job.yields || yielding < yieldingMax)
      if (index === -1) return
      begin(waiting.splice(index, 1)[0])
    }
  }

  /** @param {Job} job */
  async function begin (job) {
    const slot = job.slot = freeSlots.pop() ?? createSlot()
    running++
    if (job.yields) yielding++
    try {
      job.resolve(await start().run({ task: job.task, threadId: slot.threadId }, { signal: slot.abort.signal }))
    } catch (error) {
      job.reject(closed ? busy() : reasonOf(slot, error))
    }
    forget(job)
    running--
    if (job.yields) yielding--
    // An aborted task's thread may still write to its slot.
    if (!slot.abort.signal.aborted) freeSlots.push(reset(slot))
    next()
  }

  /** @param {Job} job */
  function forget (job) {
    jobs.delete(job)
    bytesNow -= job.bytes
    if (job.isLong) long--
  }

  function check () {
    const nowMs = performance.now()
    for (const job of jobs) {
      if (!job.isLong && nowMs - job.sinceMs >= CHECK_INTERVAL_MS) {
        job.isLong = true
        long++
      }
      if (nowMs - job.sinceMs > wallMaxMs) giveUp(job)
      else if (job.slot && cpuMs(job.slot) > cpuMaxMs) job.slot.abort.abort(new TooCostly(cpuMaxMs / 1000))
    }
    next()
    if (jobs.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** @param {Job} job */
  function giveUp (job) {
    if (job.slot) return job.slot.abort.abort(busy())
    waiting.splice(waiting.indexOf(job), 1)
    forget(job)
    job.reject(busy())
  }

  /** @param {Slot} slot */
  function reasonOf ({ abort: { signal } }, /** @type {any} */ error) {
    if (signal.aborted) return signal.reason
    if (NO_THREAD.has(error?.code)) return busy()
    return error?.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TooCostly(cpuMaxMs / 1000) : error
  }

  /**
   * @template Result
   * @param {any} task  a cloneable value
   * @param {{bytes?: number, yields?: boolean}} [options]  `yields`: leaves a thread to the others
   * @returns {Promise<Result>}
   * @throws {Error} 422: too much CPU time or memory; 503: too many wait, or too long; what the task throws
   */
  function run (task, { bytes = 0, yields = false } = {}) {
    if (closed || jobs.size >= waitingMax || (jobs.size > 0 && bytesNow + bytes > waitingMaxBytes)) {
      return Promise.reject(busy())
    }
    return new Promise((resolve, reject) => {
      const sinceMs = performance.now()
      /** @type {Job} */
      const job = { task, bytes, yields, sinceMs, isLong: false, slot: undefined, resolve, reject }
      jobs.add(job)
      bytesNow += bytes
      timer ??= setInterval(check, CHECK_INTERVAL_MS).unref()
      waiting.push(job)
      next()
    })
  }

  return {
    run,

    /** Loads the modules of the threads that are kept. */
    async warm () {
      if (closed) return
      const ready = Array.from({ length: threads.min }, () => start().run(null))
      await Promise.all(ready).catch((error) => { if (!closed) throw error })
    },

    async close () {
      closed = true
      clearInterval(timer)
      for (const job of waiting.splice(0)) job.reject(busy())
      await piscina?.destroy()
    }
  }
}

/** @typedef {ReturnType<typeof createPool>} Pool */

const busy = () => retryAfter(new Busy())
const noop = () => {}

/** @returns {Slot} */
const createSlot = () =>
  ({ threadId: new Int32Array(new SharedArrayBuffer(4)), abort: new AbortController(), cpuStartMs: undefined })

/** @param {Slot} slot */
function reset (slot) {
  Atomics.store(slot.threadId, 0, 0)
  slot.cpuStartMs = undefined
  return slot
}

/**
 * @param {Slot} slot
 * @returns {number} CPU time since the first check of its task, in steps of 10 ms; wall time without /proc
 */
function cpuMs (slot) {
  const id = Atomics.load(slot.threadId, 0)
  if (id === 0) return 0
  try {
    const nowMs = id < 0 ? performance.now() : cpuTicks(id) * MS_PER_TICK
    slot.cpuStartMs ??= nowMs
    return nowMs - slot.cpuStartMs
  } catch {
    // The thread has just ended.
    return 0
  }
}
