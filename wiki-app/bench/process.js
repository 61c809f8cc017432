import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ, which is 100 on every Linux that Node runs on (proc(5), sysconf(3)). */
const TICKS_PER_S = 100
const BYTES_PER_KB = 1024

/**
 * @param {number} pid
 * @returns {number} seconds in user and system mode of all threads of a process, of its children, and of those that it
 *   has waited for, in steps of 10 ms (proc(5), fields 14 to 17 of stat)
 * @throws {Error} when the process has ended
 */
export function cpuSeconds (pid) {
  const ticks = fieldsOf(pid).slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return childrenOf(pid).reduce((sum, child) => sum + ifAlive(child), ticks / TICKS_PER_S)
}

/**
 * @param {number} pid
 * @returns {number} how often threads of a process and of its children have gone to sleep, once for each time that
 *   something woke them (proc(5), voluntary_ctxt_switches of status); threads that have ended do not count
 * @throws {Error} when the process has ended
 */
export function sleeps (pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  const own = threads.map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1')
    return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])
  })
  return [...own, ...childrenOf(pid).map(sleeps)].reduce((sum, count) => sum + count, 0)
}

/**
 * @returns {number} seconds in user and system mode of the children that this process has waited for, in steps of 10 ms
 *   (proc(5), fields 16 and 17 of stat)
 */
export function endedChildrenCpuSeconds () {
  const [userTicks, systemTicks] = fieldsOf('self').slice(13, 15)
  return (Number(userTicks) + Number(systemTicks)) / TICKS_PER_S
}

/** @param {number | 'self'} pid @returns {string[]} from the third field of stat on: a name may have spaces */
function fieldsOf (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** @param {number} pid @returns {number} */
function ifAlive (pid) {
  try {
    return cpuSeconds(pid)
  } catch {
    return 0
  }
}

/** @param {number} pid @returns {number[]} the children of all its threads */
function childrenOf (pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.flatMap((thread) => childrenOfThread(`/proc/${pid}/task/${thread}`))
}

/** @param {string} directory @returns {number[]} none when the thread has ended meanwhile */
function childrenOfThread (directory) {
  try {
    return readFileSync(`${directory}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return []
    throw error
  }
}

/**
 * @param {number} pid
 * @returns {number} resident memory of a process (VmRSS), in MB of 10⁶ bytes
 * @throws {Error} when the process has ended
 */
export function residentMb (pid) {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  return Number(kb) * BYTES_PER_KB / 1e6
}

/** @param {number} pid @returns {number} that of a process and of its children; pages that they share count for each */
export const residentMbOfAll = (pid) =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + residentMb(each), 0)
