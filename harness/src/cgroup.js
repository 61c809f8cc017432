import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { startTicks, waitUntil } from './processes.js'

/** Kernel limits for both quota and period (kernel/sched/core.c, min_cfs_quota_period and max_cfs_quota_period). */
const QUOTA_MIN_US = 1_000
const PERIOD_MAX_US = 1_000_000
const REMOVE_TIMEOUT_MS = 5_000

/** @typedef {'cpu' | 'memory'} Controller */

/**
 * The cgroup below which a controller's groups can be created, or the reason why there is none (a sentence).
 * @typedef {{version: 1 | 2, directory: string} | {reason: string}} ParentGroup
 */

/**
 * One new cgroup per available controller.
 * @typedef {object} Group
 * @property {Partial<Record<Controller, {version: 1 | 2, directory: string}>>} controllers
 * @property {string[]} directories  without duplicates, to remove in the end
 * @property {Partial<Record<Controller, string>>} missing  why a controller is not available
 */

/**
 * Finds where this process can create cgroups: below its own, so that its own limits also hold there. With cgroups v2
 * that is the nearest ancestor that delegates the controller: a group with processes of its own cannot (cgroups(7),
 * "no internal processes").
 * @param {string} mountinfo  content of /proc/self/mountinfo, proc_pid_mountinfo(5)
 * @param {string} membership  content of /proc/self/cgroup, cgroups(7)
 * @param {(directory: string) => string} [readDelegated]  reads cgroup.subtree_control of a directory
 * @returns {Record<Controller, ParentGroup>}
 */
export function parentGroupsFrom (mountinfo, membership, readDelegated = readSubtreeControl) {
  const mounts = mountinfo.trim().split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ')
    const [, , , root, point, options] = before.split(' ')
    const [type, , superOptions] = after.split(' ')
    return type === 'cgroup' || type === 'cgroup2'
      ? [{
          root,
          point,
          readOnly: options.split(',').includes('ro'),
          type,
          controllers: (superOptions ?? '').split(',')
        }]
      : []
  })
  const memberships = membership.trim().split('\n').map((line) => {
    const [, controllers, ...rest] = line.split(':')
    return { controllers: controllers.split(','), path: rest.join(':') }
  })
  return { cpu: parentOf('cpu'), memory: parentOf('memory') }

  /** @param {Controller} controller @returns {ParentGroup} */
  function parentOf (controller) {
    const first = mounts.find(({ type, controllers }) => type === 'cgroup' && controllers.includes(controller))
    const mount = first ?? mounts.find(({ type }) => type === 'cgroup2')
    if (mount === undefined) return { reason: `no cgroup filesystem with the controller ${controller} is mounted` }
    if (mount.readOnly) return { reason: `${mount.point} is mounted read-only` }
    const mine = memberships.find(
      ({ controllers }) => first ? controllers.includes(controller) : controllers.join() === ''
    )?.path ?? '/'
    const within = path.relative(mount.root, mine)
    // In a container the path may be the host's view, which lies outside of the mount.
    const own = within.startsWith('..') ? mount.point : path.join(mount.point, within)
    if (first) return { version: 1, directory: own }
    for (let directory = own; ; directory = path.dirname(directory)) {
      if (readDelegated(directory).split(/\s+/).includes(controller)) return { version: 2, directory }
      if (directory === mount.point || directory === '/') {
        return { reason: `no cgroup above this process delegates the controller ${controller} to new ones (cgroup.subtree_control)` }
      }
    }
  }
}

/** @param {string} directory */
function readSubtreeControl (directory) {
  try {
    return readFileSync(path.join(directory, 'cgroup.subtree_control'), 'utf8').trim()
  } catch {
    return ''
  }
}

/** @returns {Record<Controller, ParentGroup>} */
export function findParentGroups () {
  if (!existsSync('/proc/self/cgroup')) {
    return { cpu: { reason: 'this kernel has no cgroups' }, memory: { reason: 'this kernel has no cgroups' } }
  }
  return parentGroupsFrom(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))
}

/**
 * Creates groups for the wanted controllers. An unavailable controller is listed in `missing`; that is not an error.
 * @param {Controller[]} wanted
 * @param {(directories: string[]) => void} onPlan  called before the first directory is created, so that the caller can
 *   record all of them for the clean-up
 * @param {Record<Controller, ParentGroup>} [parents]
 * @returns {Group}
 */
export function createGroup (wanted, onPlan, parents = findParentGroups()) {
  /** @type {Group} */
  const group = { controllers: {}, directories: [], missing: {} }
  // Unique: a pid may be reused, but not with the same start time.
  const name = `stevec-${process.pid}-${startTicks(process.pid)}-${nextNumber++}`
  const planned = wanted.flatMap((controller) => {
    const parent = parents[controller]
    if ('reason' in parent) {
      group.missing[controller] = parent.reason
      return []
    }
    return [{ controller, version: parent.version, directory: path.join(parent.directory, name) }]
  })
  if (planned.length > 0) onPlan([...new Set(planned.map(({ directory }) => directory))])
  for (const { controller, version, directory } of planned) {
    try {
      mkdirSync(directory, { recursive: true })
      // On a plain file system mkdir also succeeds, but the directory limits nothing.
      if (!existsSync(path.join(directory, 'cgroup.procs'))) throw new Error('it is not a cgroup filesystem')
      if (!group.directories.includes(directory)) group.directories.push(directory)
      group.controllers[controller] = { version, directory }
    } catch (error) {
      rmdirQuietly(directory)
      group.missing[controller] = `${path.dirname(directory)} refuses a new cgroup (${reasonOf(error)})`
    }
  }
  return group
}

let nextNumber = 1

/**
 * Returns the shortest period that the kernel accepts for a share: in a long period a request runs at full speed first,
 * and then stops for long.
 * @param {number} share  of one core
 * @returns {{quota_us: number, period_us: number}}
 * @throws {RangeError} below 0.001
 */
export function quotaFor (share) {
  const period = Math.max(QUOTA_MIN_US, Math.ceil(QUOTA_MIN_US / share))
  if (period > PERIOD_MAX_US) {
    throw new RangeError(`${share} of a core is less than the smallest share that the kernel can enforce (0.001)`)
  }
  return { quota_us: Math.round(share * period), period_us: period }
}

/**
 * @param {Group} group
 * @param {number | null} share  of one core, for all processes of the group together; null: no limit
 */
export function setCpuShare ({ controllers: { cpu } }, share) {
  if (cpu === undefined) return
  const { quota_us: quota, period_us: period } = share === null
    ? { quota_us: null, period_us: 100_000 }
    : quotaFor(share)
  if (cpu.version === 2) {
    write(cpu.directory, 'cpu.max', `${quota ?? 'max'} ${period}`)
  } else {
    // Switches the quota off first: the new period with the old quota may be more than the kernel allows.
    write(cpu.directory, 'cpu.cfs_quota_us', '-1')
    write(cpu.directory, 'cpu.cfs_period_us', String(period))
    if (quota !== null) write(cpu.directory, 'cpu.cfs_quota_us', String(quota))
  }
}

/**
 * @param {Group} group
 * @param {number} bytes  for all processes of the group together, page cache included
 */
export function setMemoryLimit ({ controllers: { memory } }, bytes) {
  if (memory === undefined) return
  write(memory.directory, memory.version === 2 ? 'memory.max' : 'memory.limit_in_bytes', String(bytes))
}

/**
 * Removes groups that createGroup created, as soon as their last process has ended. A missing group is not an error.
 * @param {string[]} directories
 * @returns {Promise<string[]>} those that could not be removed in 5 s
 */
export async function removeGroups (directories) {
  const left = []
  for (const directory of directories) {
    // The list may come from a state file, so only names of createGroup are removed.
    if (!/^stevec-\d+-\d+-\d+$/.test(path.basename(directory))) continue
    if (!await waitUntil(() => rmdirQuietly(directory), REMOVE_TIMEOUT_MS)) left.push(directory)
  }
  return left
}

/**
 * Removes groups in which no process was started.
 * @param {string[]} directories
 */
export function dropGroup (directories) {
  for (const directory of directories) rmdirQuietly(directory)
}

/** @param {string} directory @returns {boolean} whether the directory no longer exists */
function rmdirQuietly (directory) {
  try {
    rmdirSync(directory)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT'
  }
}

/**
 * @param {string} directory
 * @param {string} file
 * @param {string} value
 */
function write (directory, file, value) {
  try {
    writeFileSync(path.join(directory, file), value)
  } catch (error) {
    throw new Error(`${path.join(directory, file)} rejects the value "${value}" (${reasonOf(error)})`)
  }
}

/** @param {unknown} error */
const reasonOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code ?? /** @type {Error} */ (error).message
