import { dropGroup, setCpuShare } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { StackError } from './stack-error.js'
import { writeState } from './state.js'

/** @typedef {import('./state.js').StackState} StackState */

/**
 * The control groups of a stack's wikis: one for each, in the order of their ports, with the same share of a core.
 * @typedef {object} WikiLimits
 * @property {number} cpu_share
 * @property {import('@stevec/harness/cgroup').Group[]} groups
 */

/**
 * Creates a control group for each wiki of a stack, so that a second wiki is like a second machine. The share is in
 * force only while `setWikiShares` says so.
 * @param {StackState} state
 * @param {string} directory  of the stack
 * @param {number} share  of one core, for each wiki
 * @throws {StackError} when the profile already limits the origin's processes
 */
export function limitWikis (state, directory, share) {
  const { name, asked: { origin } } = state.profile
  if (origin.cpu_share !== null || origin.memory_bytes !== null) {
    throw new StackError(`wiki_cpu_share limits each wiki, and the profile ${name} limits all processes of the origin together: use --profile none`)
  }
  const groups = (state.wiki_ports ?? []).map(() =>
    createLimits({ cpu_share: share, memory_bytes: null }, (directories) => {
      state.cgroups.push(...directories)
      writeState(directory, state)
    }))
  state.wiki_limits = { cpu_share: share, groups }
}

/**
 * @param {Pick<StackState, 'wiki_limits'>} state
 * @param {boolean} engaged
 */
export function setWikiShares ({ wiki_limits: limits }, engaged) {
  for (const group of limits?.groups ?? []) setCpuShare(group, engaged ? limits?.cpu_share ?? null : null)
}

/**
 * @returns {string | null} why this machine cannot limit each wiki; null: it can
 */
export function missingForWikiShares () {
  const { controllers, directories, missing } = createLimits({ cpu_share: 0.5, memory_bytes: null }, () => {})
  dropGroup(directories)
  return controllers.cpu === undefined ? missing.cpu ?? 'no control group' : null
}
