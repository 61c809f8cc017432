import { readFileSync } from 'node:fs'
import os from 'node:os'

/** Linux's USER_HZ, the unit of /proc/stat. */
const TICKS_PER_S = 100
/** Columns of /proc/stat in which the processors did nothing: idle, iowait (proc(5)). */
const IDLE = [3, 4]

/** Begins to watch what the machine's processors do. */
export function watchMachine () {
  const begin = read()
  return {
    /**
     * @param {number} oursS  processor time of the work that was watched, this process's excepted
     * @returns {number} 0 to 1: the share of all cores that others had meanwhile
     */
    others (oursS) {
      const end = read()
      const busyS = end.busyS - begin.busyS - oursS - (end.ownS - begin.ownS)
      return Math.max(0, busyS / ((end.atS - begin.atS) * os.availableParallelism()))
    }
  }
}

function read () {
  const times = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].split(/\s+/).slice(1, 9).map(Number)
  const busy = times.reduce((sum, ticks, column) => IDLE.includes(column) ? sum : sum + ticks, 0)
  const own = process.cpuUsage()
  return { atS: performance.now() / 1000, busyS: busy / TICKS_PER_S, ownS: (own.user + own.system) / 1e6 }
}
