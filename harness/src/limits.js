import { createGroup, dropGroup, setCpuShare, setMemoryLimit } from './cgroup.js'

/** @typedef {import('./cgroup.js').Controller} Controller */
/** `cpu_share` in cores; null: no limit. @typedef {{cpu_share: number | null, memory_bytes: number | null}} Limits */

/**
 * Makes groups to start processes in: the memory limit is on, the CPU still free, so that starting and preparing are
 * quick.
 * @param {Limits} limits
 * @param {(directories: string[]) => void} onPlan  see createGroup
 * @param {Parameters<typeof createGroup>[2]} [places]
 * @returns {import('./cgroup.js').Group}  what could not be had is in `missing`
 */
export function createLimits ({ cpu_share: cpuShare, memory_bytes: memoryBytes }, onPlan, places) {
  /** @type {Partial<Record<Controller, (group: import('./cgroup.js').Group) => void>>} */
  const set = {}
  if (cpuShare !== null) {
    set.cpu = (group) => {
      setCpuShare(group, cpuShare)
      setCpuShare(group, null)
    }
  }
  if (memoryBytes !== null) set.memory = (group) => setMemoryLimit(group, memoryBytes)

  const wanted = /** @type {Controller[]} */ (Object.keys(set))
  const group = createGroup(wanted, onPlan, places)
  for (const name of wanted) {
    try {
      set[name]?.(group)
    } catch (error) {
      group.missing[name] = /** @type {Error} */ (error).message
      delete group.controllers[name]
    }
  }
  // A group that limits nothing is not worth starting a process in.
  const used = new Set(Object.values(group.controllers).map(({ directory }) => directory))
  dropGroup(group.directories.filter((directory) => !used.has(directory)))
  return { ...group, directories: [...used] }
}
