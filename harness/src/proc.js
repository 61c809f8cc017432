import { readFileSync } from 'node:fs'

/** Linux's USER_HZ, the unit of times in /proc; 100 on every supported architecture. */
const TICKS_PER_S = 100

/**
 * What the kernel reports of a process (proc_pid_stat(5)).
 * @typedef {object} ProcessStat
 * @property {string} state  one letter, such as R (running), S (sleeping) or Z (zombie)
 * @property {number} threads
 * @property {number} start_ticks  since boot, in clock ticks
 * @property {number} cpu_s  CPU time of all its threads
 * @property {number} ended_children_cpu_s  CPU time of its children that have ended and were waited for
 * @property {number} resident_pages
 */

/**
 * What the kernel reports of all processors together, since boot (proc_stat(5)).
 * @typedef {object} ProcessorTimes
 * @property {number} busy_s  neither idle nor waiting for I/O
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

/** @returns {ProcessorTimes | null} null on a system without /proc/stat */
export function readProcessorTimes () {
  const text = readOrNull('/proc/stat')
  return text === null ? null : parseProcessorTimes(text)
}

/**
 * @param {string} text  of /proc/stat
 * @returns {ProcessorTimes | null} null without the line of all processors
 */
export function parseProcessorTimes (text) {
  const line = /^cpu +(.*)$/m.exec(text)?.[1]
  if (line === undefined) return null
  const [user, nice, system, idle, ioWait = 0, irq = 0, softIrq = 0, steal] =
    line.trim().split(/ +/).map((ticks) => Number(ticks) / TICKS_PER_S)
  return {
    busy_s: user + nice + system + irq + softIrq + (steal ?? 0),
    idle_s: idle + ioWait,
    stolen_s: steal ?? null
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
