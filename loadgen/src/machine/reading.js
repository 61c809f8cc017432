import { childPids, readCpuPressure, readProcessorTimes, readProcessStat, readThreads } from '@stevec/harness/proc'

/** Below any process tree of a stack; a deeper one is not followed. */
const DEPTH_MAX = 8

/** A part of what is measured, or of what measures it. @typedef {typeof PARTS[number]} Part */
export const PARTS = /** @type {const} */ (['generator', 'links', 'edge', 'origin', 'wiki', 'database', 'lab'])

/** A process whose descendants count as itself. @typedef {{name: string, pid: number, part: Part}} WatchedProcess */

/**
 * A process, and what it has used since its start.
 * @typedef {object} ProcessReading
 * @property {string} name  of the watched process that it is, or descends from
 * @property {Part} part
 * @property {number | null} parent  pid of the process that gets its times when it ends
 * @property {number} cpu_s
 * @property {number} ended_s  of its children that have ended
 * @property {Map<number, {cpu_s: number, run_queue_s: number | null}>} threads  by id
 */

/**
 * The machine at one moment.
 * @typedef {object} Reading
 * @property {number} at_us  since 1970
 * @property {number} at_s  of the monotonic clock
 * @property {import('@stevec/harness/proc').ProcessorTimes} processors
 * @property {number | null} pressure_s  see readCpuPressure
 * @property {number} held_up_s  see startSleeper
 * @property {Map<number, ProcessReading>} processes  by pid; `lab` is this process, with what it started besides
 */

/**
 * @param {WatchedProcess[]} watched
 * @param {number} heldUpS
 * @returns {Reading | null} null on a system without /proc
 */
export function readMachine (watched, heldUpS) {
  const processors = readProcessorTimes()
  if (processors === null) return null
  /** @type {Reading['processes']} */
  const processes = new Map()
  const byPid = new Map(watched.map((each) => [each.pid, each]))
  const lab = { name: 'lab', pid: process.pid, part: /** @type {const} */ ('lab') }
  for (const root of [lab, ...watched]) add(root, root.pid, null, 0)
  return {
    at_us: Math.round((performance.timeOrigin + performance.now()) * 1000),
    at_s: performance.now() / 1000,
    processors,
    pressure_s: readCpuPressure(),
    held_up_s: heldUpS,
    processes
  }

  /**
   * @param {{name: string, part: Part}} heir  of which it is a descendant
   * @param {number} pid
   * @param {number | null} parent
   * @param {number} depth
   */
  function add (heir, pid, parent, depth) {
    const stat = processes.has(pid) ? null : readProcessStat(pid)
    if (stat === null || depth > DEPTH_MAX) return
    const { name, part } = byPid.get(pid) ?? heir
    processes.set(pid, {
      name,
      part,
      parent,
      cpu_s: stat.cpu_s,
      ended_s: stat.ended_children_cpu_s,
      threads: new Map(readThreads(pid).map(({ tid, ...times }) => [tid, times]))
    })
    for (const child of childPids(pid)) add({ name, part }, child, pid, depth + 1)
  }
}
