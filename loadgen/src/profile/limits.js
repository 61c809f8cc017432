import { createGroup, dropGroup, setCpuShare, setMemoryLimit } from './cgroup.js'

/** @typedef {import('./cgroup.js').Controller} Controller */
/** @typedef {import('./profile.js').ProfileFile['origin']} Origin */

/** What it means when a limit cannot be had. @type {Record<Controller, string>} */
const WITHOUT = {
  cpu: 'the origin has all of this machine\'s CPU',
  memory: 'the origin\'s memory is not limited'
}

/**
 * Makes the groups that the origin's processes are to be started in: the memory limit on, the CPU still free, so that starting and preparing are quick.
 * @param {Origin} origin
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

/**
 * Finds out by trying which of an origin's limits can be had here.
 * @param {Origin} origin
 * @param {boolean} ownMongod  whether the database will be one of our processes
 * @param {Parameters<typeof createGroup>[2]} [places]
 * @returns {{applied: Record<Controller, boolean>, missing: string[]}} `missing` in sentences
 */
export function tryLimits (origin, ownMongod, places) {
  const group = createLimits(origin, () => {}, places)
  dropGroup(group.directories)
  const applied = { cpu: group.controllers.cpu !== undefined, memory: group.controllers.memory !== undefined }
  const missing = Object.entries(group.missing).map(([name, reason]) => `${WITHOUT[/** @type {Controller} */ (name)]}: ${reason}`)
  if (!ownMongod && (applied.cpu || applied.memory)) missing.push('the database is not the stack\'s own (MONGODB_URI), so neither its CPU nor its memory is limited')
  return { applied, missing }
}
