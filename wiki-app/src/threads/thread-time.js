import { readFileSync, readlinkSync } from 'node:fs'

/** USER_HZ, 100 on every Linux with Node (proc(5), sysconf(3)). */
const TICKS_PER_S = 100

export const MS_PER_TICK = 1000 / TICKS_PER_S

/** @returns {number} the kernel's id of the calling thread; -1 without /proc */
export function ownThreadId () {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return -1
  }
}

/**
 * Node 20 knows only the time of the whole process.
 * @param {number} id  of a thread of this process
 * @returns {number} ticks of 10 ms in user and system mode (proc(5), fields 14 and 15 of stat)
 * @throws {Error} when the thread is gone
 */
export function cpuTicks (id) {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1')
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13)
  return Number(user) + Number(system)
}
