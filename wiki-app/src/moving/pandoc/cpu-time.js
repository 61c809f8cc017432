import { readFileSync } from 'node:fs'

/** Linux's USER_HZ, the unit of times in /proc. */
const MS_PER_TICK = 10
const USER_TICKS = 11

/**
 * @param {number} pid
 * @returns {number | null} processor time of all threads of a process (proc_pid_stat(5)), in steps of 10 ms; null where
 *   the system does not say it
 */
export function cpuTimeMs (pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may contain spaces and parentheses; field 3 of the manual page follows it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return MS_PER_TICK * (Number(fields[USER_TICKS]) + Number(fields[USER_TICKS + 1]))
  } catch {
    return null
  }
}
