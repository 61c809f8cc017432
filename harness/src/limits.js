import { createGroup, dropGroup, setCpuShare, setMemoryLimit } from './cgroup.js'

/** @typedef {import('./cgroup.js').Controller} Controller */
/** `cpu_share` in cores; null: no limit. @typedef {{cpu_share: number | null, memory_bytes: number | null}} Limits */

/**
 * Creates groups to start processes in. The memory limit applies at once, the CPU limit not yet, so that start-up and
 * preparation are quick.
 * @param {Limits} limits
 * @param {(directories: string[]) => void} onPlan  see createGroup
 * @param {Parameters<typeof createGroup>[2]} [parents]
 * @returns {import('./cgroup.js').Group}  limits that could not be set are in `missing`
 */
export function createLimits ({ cpu_share: cpuShare, memory_bytes: memoryBytes }, onPlan, parents) {
  /** @type {Partial<Record<Controller, (group: import('./cgroup.js').Group) => void>>} */
  const set = {}
  if (cpuShare !== null) {
    set.cpu = (group) => {
      // Only tries whether the kernel accepts the share.
      setCpuShare(group, cpuShare)
      setCpuShare(group, null)
    }
  }
  if (memoryBytes !== null) set.memory = (group) => setMemoryLimit(group, memoryBytes)

  const wanted = /** @type {Controller[]} */ (Object.keys(set))
  const group = createGroup(wanted, onPlan, parents)
  for (const name of wanted) {
    try {
      set[name]?.(group)
    } catch (error) {
      group.missing[name] = /** @type {Error} */ (error).message
      delete group.controllers[name]
    }
  }
  // Groups without any limit are not used.
  const used = new Set(Object.values(group.controllers).map(({ directory }) => directory))
  dropGroup(group.directories.filter((directory) => !used.has(directory)))
  return { ...group, directories: [...used] }
}
