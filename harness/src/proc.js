import { readdirSync, readFileSync } from 'node:fs'

/** Linux's USER_HZ, the unit of times in /proc; 100 on every supported architecture. */
const TICKS_PER_S = 100

/**
 * What the kernel reports of a process (proc_pid_stat(5)).
 * @typedef {object} ProcessStat
 * @property {string} state  one letter, such as R (running), S (sleeping) or Z (zombie)
 * @property {number} group  number of its process group, which is the pid of the group's first process
 * @property {number} threads
 * @property {number} start_ticks  since boot, in clock ticks
 * @property {number} cpu_s  CPU time of all its threads
 * @property {number} ended_children_cpu_s  CPU time of its children that have ended and were waited for
 * @property {number} resident_pages
 */

/**
 * What the kernel reports of the processors together that this process may use, since boot (proc_stat(5)).
 * @typedef {object} ProcessorTimes
 * @property {number} cores  their number
 * @property {number} busy_s  neither idle nor waiting for I/O
 * @property {number} interrupt_s  busy with interrupts, hard and soft: of no process
 * @property {number} idle_s
 * @property {number | null} stolen_s  wanted by this virtual machine and not given by its host; null where the kernel
 *   does not report it
 */

/**
 * @param {number | 'self'} pid
 * @returns {ProcessStat | null} null when there is no such process
 */
export function readProcessStat (pid) {
  const text = readOrNull(`/proc/${pid}/stat`)
  return text === null ? null : parseProcessStat(text)
}

/**
 * @param {string} text  of /proc/<pid>/stat
 * @returns {ProcessStat | null} null for an incomplete text
 */
export function parseProcessStat (text) {
  // The name, in parentheses, may contain spaces and parentheses; field 3 of the manual page follows it.
  const fields = text.slice(text.lastIndexOf(')') + 2).trim().split(' ')
  if (fields.length < 22) return null
  const seconds = (/** @type {number} */ index) => (Number(fields[index]) + Number(fields[index + 1])) / TICKS_PER_S
  return {
    state: fields[0],
    group: Number(fields[2]),
    threads: Number(fields[17]),
    start_ticks: Number(fields[19]),
    cpu_s: seconds(11),
    ended_children_cpu_s: seconds(13),
    resident_pages: Number(fields[21])
  }
}

/**
 * @param {number} pid
 * @returns {number[]} pids of its children (proc_tid_children(5)), without grandchildren; [] when it has ended
 */
export function childPids (pid) {
  return (readOrNull(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number)
}

/**
 * What the scheduler reports of a thread (https://docs.kernel.org/scheduler/sched-stats.html, /proc/<pid>/schedstat).
 * @typedef {{tid: number, cpu_s: number, run_queue_s: number | null}} ThreadTimes  `run_queue_s`: ready to run, without
 *   a core; null on a kernel that does not report it
 */

/**
 * @param {number} pid
 * @returns {ThreadTimes[]} of the threads of a process; [] when it has ended
 */
export function readThreads (pid) {
  const directory = `/proc/${pid}/task`
  return namesIn(directory).flatMap((tid) => readThread(`${directory}/${tid}`, Number(tid)) ?? [])
}

/**
 * @param {number} pid
 * @returns {string[]} one letter for each thread (proc(5), stat); [] when the process has ended
 */
export const readThreadStates = (pid) => namesIn(`/proc/${pid}/task`).flatMap((tid) =>
  parseProcessStat(readOrNull(`/proc/${pid}/task/${tid}/stat`) ?? '')?.state ?? [])

/**
 * @param {string} directory
 * @param {number} tid
 * @returns {ThreadTimes | null} null when it has ended
 */
function readThread (directory, tid) {
  const times = readOrNull(`${directory}/schedstat`)
  if (times !== null) {
    const [cpuNs, runQueueNs] = times.split(' ').map(Number)
    return { tid, cpu_s: cpuNs / 1e9, run_queue_s: runQueueNs / 1e9 }
  }
  const stat = parseProcessStat(readOrNull(`${directory}/stat`) ?? '')
  return stat === null ? null : { tid, cpu_s: stat.cpu_s, run_queue_s: null }
}

/** @param {string} directory */
function namesIn (directory) {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/**
 * Reads the kernel's pressure stall information (https://docs.kernel.org/accounting/psi.html).
 * @returns {number | null} seconds since boot in which at least one task waited for a core; null where the kernel does
 *   not report it
 */
export function readCpuPressure () {
  const totalUs = /^some .*total=(\d+)$/m.exec(readOrNull('/proc/pressure/cpu') ?? '')?.[1]
  return totalUs === undefined ? null : Number(totalUs) / 1e6
}

/** @returns {number[]} pids of all processes that this one may see */
export const allPids = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)

/** @returns {ProcessorTimes | null} null on a system without /proc/stat */
export function readProcessorTimes () {
  const text = readOrNull('/proc/stat')
  return text === null ? null : parseProcessorTimes(text, allowedProcessors())
}

/** @returns {Set<number> | null} that this process may use, sched_setaffinity(2); null: any */
function allowedProcessors () {
  const list = /^Cpus_allowed_list:\s*(.*)$/m.exec(readOrNull('/proc/self/status') ?? '')?.[1]
  return list === undefined ? null : parseProcessorList(list)
}

/**
 * @param {string} list  such as 0-3,8
 * @returns {Set<number>}
 */
export function parseProcessorList (list) {
  return new Set(list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  }))
}

/**
 * @param {string} text  of /proc/stat
 * @param {Set<number> | null} allowed  null: all processors
 * @returns {ProcessorTimes | null} null without a line of one of these processors
 */
export function parseProcessorTimes (text, allowed = null) {
  const lines = [...text.matchAll(/^cpu(\d+) +(.*)$/gm)].filter(([, number]) => allowed?.has(Number(number)) ?? true)
  if (lines.length === 0) return null
  const columns = lines.map(([, , times]) => times.trim().split(/ +/).map((ticks) => Number(ticks) / TICKS_PER_S))
  const [user, nice, system, idle, ioWait, irq, softIrq, steal] =
    Array.from({ length: 8 }, (_, column) => columns.reduce((sum, times) => sum + (times[column] ?? 0), 0))
  return {
    cores: lines.length,
    busy_s: user + nice + system + irq + softIrq + steal,
    interrupt_s: irq + softIrq,
    idle_s: idle + ioWait,
    stolen_s: columns[0].length > 7 ? steal : null
  }
}

/** @param {string} file */
function readOrNull (file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return null
  }
}
