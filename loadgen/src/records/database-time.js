import { cpuSeconds } from '../lab/child-cpu.js'

/**
 * Measures the processor time of the database from now on.
 * @param {import('../lab/site.js').Site} site
 * @returns {() => number | null} seconds since then; null where it runs on another machine
 */
export function watchDatabase (site) {
  const pids = site.processes().filter(({ name, part }) => part === 'database' && name.startsWith('mongod'))
    .map(({ pid }) => pid)
  const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const before = used()
  return () => pids.length === 0 ? null : Math.round(1000 * (used() - before)) / 1000
}
