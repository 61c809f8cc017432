import { childPids, readCpuPressure, readProcessorTimes, readProcessStat, readThreads } from '@stevec/harness/proc'

/** Below any process tree of a stack; a deeper one is not followed. */
const DEPTH_MAX = 8

/** A part of what is measured, or of what measures it. @typedef {typeof PARTS[number]} Part */
export const PARTS = /** @type {const} */ (['generator', 'links', 'edge', 'origin', 'wiki', 'database', 'lab'])

/** A process whose descendants count as itself. @typedef {{name: string, pid: number, part: Part}} WatchedProcess */

/**
 * Times since the start of a process and its descendants, ended ones included.
 * @typedef {object} ProcessTimes
 * @property {Part} part
 * @property {number} cpu_s
 * @property {Map<string, {cpu_s: number, run_queue_s: number}>} threads  of living processes, by pid/tid
 */

/**
 * The machine at one moment.
 * @typedef {object} Reading
 * @property {number} at_us  since 1970
 * @property {number} at_s  of the monotonic clock
 * @property {import('@stevec/harness/proc').ProcessorTimes} processors
 * @property {number | null} pressure_s  see readCpuPressure
 * @property {number} held_up_s  see startSleeper
 * @property {number} ended_s  processor time of children of this process that have ended, also in that of `lab`
 * @property {Map<string, ProcessTimes>} processes  by name; `lab` is this process, with what it started besides
 */

/**
 * @param {WatchedProcess[]} watched
 * @param {number} heldUpS
 * @returns {Reading | null} null on a system without /proc
 */
export function readMachine (watched, heldUpS) {
  const processors = readProcessorTimes()
  if (processors === null) return null
  /** @type {Map<string, ProcessTimes>} */
  const processes = new Map([['lab', { part: 'lab', cpu_s: 0, threads: new Map() }]])
  const byPid = new Map(watched.map((each) => [each.pid, each]))
  const roots = [{ name: 'lab', pid: process.pid, part: /** @type {const} */ ('lab') }, ...watched]
  /** Processes that were counted as descendants of another. @type {Set<number>} */
  const seen = new Set()
  for (const { name, pid, part } of roots) add(name, part, pid, 0)
  return {
    at_us: Math.round((performance.timeOrigin + performance.now()) * 1000),
    at_s: performance.now() / 1000,
    processors,
    pressure_s: readCpuPressure(),
    held_up_s: heldUpS,
    ended_s: readProcessStat(process.pid)?.ended_children_cpu_s ?? 0,
    processes
  }

  /** @param {string} name @param {Part} part @param {number} pid @param {number} depth */
  function add (name, part, pid, depth) {
    const stat = seen.has(pid) ? null : readProcessStat(pid)
    if (stat === null || depth > DEPTH_MAX) return
    seen.add(pid)
    const own = byPid.get(pid) ?? { name, part }
    const times = processes.get(own.name) ?? { part: own.part, cpu_s: 0, threads: new Map() }
    processes.set(own.name, times)
    times.cpu_s += stat.cpu_s + stat.ended_children_cpu_s
    for (const { tid, ...thread } of readThreads(pid)) times.threads.set(`${pid}/${tid}`, thread)
    for (const child of childPids(pid)) add(own.name, own.part, child, depth + 1)
  }
}
