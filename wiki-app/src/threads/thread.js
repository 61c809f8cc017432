import { constants, getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import { ownThreadId } from './thread-time.js'

/** Above the main thread's: a third of its share when both are busy (sched(7)), so authors do not starve. */
const NICENESS = 5

// Loaded before the thread counts as ready, so that no task pays for it.
const { default: work } = await import(workerData.filename)
const id = ownThreadId()
try {
  // Linux accepts the id of a thread in place of a process id (setpriority(2), "C library/kernel differences").
  if (id > 0) setPriority(id, Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW))
} catch {
  // The thread keeps the priority of the main thread, and still works.
}

/**
 * @param {{task: any, threadId: Int32Array} | null} job  null: only load; `threadId` is set when the task starts, so
 *   that the main thread can read this thread's CPU time
 */
export default async function begin (job) {
  if (job === null) return
  Atomics.store(job.threadId, 0, id)
  return work(job.task)
}
