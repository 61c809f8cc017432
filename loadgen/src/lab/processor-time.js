import { childPids } from '@stevec/harness/proc'
import { cpuSeconds } from './child-cpu.js'

/** @typedef {import('../machine/reading.js').WatchedProcess} WatchedProcess */

/** @param {WatchedProcess} process */
export const isMongod = ({ name, part }) => part === 'database' && name.startsWith('mongod')
/** Redis and its sentinels. @param {WatchedProcess} process */
export const isShared = (process) => process.part === 'database' && !isMongod(process)
/** @param {WatchedProcess} process */
export const isWiki = ({ part }) => part === 'wiki'

/**
 * Measures the processor time of some processes of a site from now on.
 * @param {import('./site.js').Site} site
 * @param {(process: WatchedProcess) => boolean} isOne
 * @returns {() => number | null} seconds since then; null where none of them runs on this machine
 */
export function watchProcessorTime (site, isOne) {
  const pids = site.processes().filter(isOne).flatMap(({ pid }) => [pid, ...childPids(pid)])
  const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const before = used()
  return () => pids.length === 0 ? null : Math.round(1000 * (used() - before)) / 1000
}
