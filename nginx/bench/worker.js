import { readFileSync } from 'node:fs'

const TICKS_PER_S = 100

/** The processes that serve: all children but the cache manager. @param {number} master @returns {number[]} */
export function workersOf (master) {
  const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').trim().split(' ').map(Number)
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker process'))
}

/** A process and all below it. @param {number} pid @returns {number[]} */
export function processesOf (pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children === '' ? [] : children.split(' ').flatMap((child) => processesOf(Number(child)))]
}

/** @param {number} pid */
export function cpuSeconds (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** With its part of the memory that it shares with others. @param {number} pid */
export function proportionalMiB (pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024
}

/** Without shared memory: the zones have a fixed size. @param {number} pid */
export function privateMiB (pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Math.round(Number(/^Anonymous:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024)
}
