import { readFileSync } from 'node:fs'

const TICKS_PER_S = 100

/** The one worker: the first child, and the only one that is not a cache manager. @param {number} master */
export function workerOf (master) {
  const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').trim().split(' ').map(Number)
  return children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker process')) ?? children[0]
}

/** @param {number} pid */
export function cpuSeconds (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** Without shared memory: the zones have a fixed size. @param {number} pid */
export function privateMiB (pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Math.round(Number(/^Anonymous:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024)
}
