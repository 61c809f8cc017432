import { dropGroup } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'

/** @typedef {import('@stevec/harness/cgroup').Controller} Controller */
/** @typedef {import('@stevec/harness/limits').Limits} Limits */

/** The effect of a missing limit. @type {Record<Controller, string>} */
const WITHOUT = {
  cpu: 'the origin has all of this machine\'s CPU',
  memory: 'the origin\'s memory is not limited'
}

/**
 * Tries which of an origin's limits this machine supports.
 * @param {Limits} origin
 * @param {boolean} ownMongod  whether the database will be one of our processes
 * @param {Parameters<typeof createLimits>[2]} [parents]
 * @returns {{applied: Record<Controller, boolean>, missing: string[]}} `missing` in sentences
 */
export function tryLimits (origin, ownMongod, parents) {
  const group = createLimits(origin, () => {}, parents)
  dropGroup(group.directories)
  const applied = { cpu: group.controllers.cpu !== undefined, memory: group.controllers.memory !== undefined }
  const missing = Object.entries(group.missing)
    .map(([name, reason]) => `${WITHOUT[/** @type {Controller} */ (name)]}: ${reason}`)
  if (!ownMongod && (applied.cpu || applied.memory)) {
    missing.push('the database is not the stack\'s own (MONGODB_URI), so neither its CPU nor its memory is limited')
  }
  return { applied, missing }
}
