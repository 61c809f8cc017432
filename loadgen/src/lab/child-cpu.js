import { readProcessStat } from '@stevec/harness/proc'

/** How often the times of living children are read. */
const READ_EVERY_MS = 250

/** CPU time of children that have ended and were waited for, seconds. */
export const childrenCpuSeconds = () =>
  /** @type {import('@stevec/harness/proc').ProcessStat} */ (readProcessStat('self')).ended_children_cpu_s

/**
 * @param {number} pid
 * @returns {number} CPU time of all threads of a living process, seconds; 0 after its end
 */
export const cpuSeconds = (pid) => readProcessStat(pid)?.cpu_s ?? 0

/**
 * Attributes the CPU time of children that have ended. The kernel adds it to one sum when Node waits for a child, so
 * the increase is that child's, exactly. Node may wait for several children before it reports the first. Their sum is
 * exact then; each gets what it had at its last reading, and of the rest a share in proportion.
 */
export function createChildCpu () {
  let attributedS = childrenCpuSeconds()
  /** At the last reading, by pid. @type {Map<number, number>} */
  const running = new Map()
  /** @type {Map<number, number>} */
  const ended = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  function read () {
    for (const pid of running.keys()) running.set(pid, Math.max(running.get(pid) ?? 0, cpuSeconds(pid)))
  }

  function settle () {
    // A child that Node has not waited for yet still has its entry, as a zombie.
    const gone = [...running].filter(([pid]) => readProcessStat(pid) === null)
    const totalS = childrenCpuSeconds()
    const knownS = gone.reduce((sum, [, lastS]) => sum + lastS, 0)
    const restS = totalS - attributedS - knownS
    attributedS = totalS
    for (const [pid, lastS] of gone) {
      running.delete(pid)
      ended.set(pid, Math.max(0, lastS + restS * (knownS === 0 ? 1 / gone.length : lastS / knownS)))
    }
    if (running.size === 0) clearInterval(timer)
  }

  return {
    /** @param {number} pid  of a child that has just started */
    watch (pid) {
      if (running.size === 0) timer = setInterval(read, READ_EVERY_MS).unref()
      running.set(pid, 0)
    },
    /**
     * @param {number} pid  of a watched child whose end Node has reported; asked for once
     * @returns {number} seconds
     */
    of (pid) {
      settle()
      const seconds = ended.get(pid) ?? 0
      ended.delete(pid)
      return seconds
    },
    /**
     * Call just before another child of this process ends: excludes its CPU time.
     * @param {number} pid
     */
    disregard (pid) {
      attributedS += cpuSeconds(pid)
    }
  }
}
