import { constants, getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import { speak } from '../language.js'
import { ownThreadId } from './thread-time.js'

/** A third of the main thread's share when both are busy (sched(7)). */
const NICENESS = 5

speak(workerData.language)
const id = ownThreadId()
try {
  // Linux accepts a thread's id (setpriority(2), "C library/kernel differences").
  if (id > 0) setPriority(id, Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW))
} catch {
  // The thread still works, at the main thread's priority.
}
// So that no task pays for it.
const { default: work } = await import(workerData.filename)

/** @param {{task: any, threadId: Int32Array} | null} job  null: only load; `threadId`: set at the start */
export default async function begin (job) {
  if (job === null) return
  Atomics.store(job.threadId, 0, id)
  return work(job.task)
}
