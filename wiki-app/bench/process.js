import { readFileSync } from 'node:fs'

/** USER_HZ, which is 100 on every Linux that Node runs on (proc(5), sysconf(3)). */
const TICKS_PER_S = 100
const BYTES_PER_KB = 1024

/**
 * @param {number} pid
 * @returns {number} seconds that all threads of a process have spent in user and system mode, in steps of 10 ms (proc(5), fields 14 and 15 of stat)
 * @throws {Error} when it is gone
 */
export function cpuSeconds (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/**
 * @param {number} pid
 * @returns {number} memory of a process that is resident now (VmRSS), in MB of 10⁶ bytes
 * @throws {Error} when it is gone
 */
export function residentMb (pid) {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  return Number(kb) * BYTES_PER_KB / 1e6
}
