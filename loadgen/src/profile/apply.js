import { createGroup, removeGroups, setCpuShare, setMemoryLimit } from './cgroup.js'
import { toxicsOf } from './links.js'
import { replaceToxics } from '../stack/toxiproxy.js'

/**
 * What a manifest says of the profile (docs/results-format.md).
 * @typedef {object} ProfileFacts
 * @property {string} name
 * @property {string} sha256
 * @property {import('./profile.js').ProfileFile} asked
 * @property {{cpu: boolean, memory: boolean, links: boolean}} applied
 * @property {string[]} missing  in sentences, what could not be done
 * @property {import('./profile.js').Profile['calibration']} calibration
 */

/**
 * A profile on a stack: what was found to be possible, and what engageProfile needs.
 * @typedef {{facts: ProfileFacts, group: import('./cgroup.js').Group, toxics: ReturnType<typeof toxicsOf>}} AppliedProfile
 */

/** What a stack looks like from here. @typedef {Pick<import('../stack/state.js').StackState, 'profile' | 'links_api'>} Stack */

/**
 * Makes the groups that the origin's processes are started in, with the memory limit on and the CPU still free, and finds out what cannot be had.
 * @param {import('./profile.js').Profile} profile
 * @param {object} options
 * @param {boolean} options.ownMongod  whether the database is one of the stack's processes
 * @param {(directories: string[]) => void} options.onPlan  see createGroup
 * @param {Parameters<typeof createGroup>[2]} [options.places]
 * @returns {Promise<AppliedProfile>}
 */
export async function prepareProfile ({ asked, sha256, calibration }, { ownMongod, onPlan, places }) {
  const { cpu_share: cpuShare, memory_bytes: memoryBytes } = asked.origin
  /** @type {Record<import('./cgroup.js').Controller, {asked: boolean, what: string, set: (group: import('./cgroup.js').Group) => void}>} */
  const limits = {
    cpu: {
      asked: cpuShare !== null,
      what: 'the origin has all of this machine\'s CPU',
      set (group) {
        setCpuShare(group, cpuShare)
        setCpuShare(group, null)
      }
    },
    memory: { asked: memoryBytes !== null, what: 'the origin\'s memory is not limited', set: (group) => setMemoryLimit(group, /** @type {number} */ (memoryBytes)) }
  }
  const names = /** @type {import('./cgroup.js').Controller[]} */ (Object.keys(limits))
  const wanted = names.filter((name) => limits[name].asked)
  const group = createGroup(wanted, onPlan, places)
  for (const name of wanted) {
    try {
      limits[name].set(group)
    } catch (error) {
      group.missing[name] = /** @type {Error} */ (error).message
      delete group.controllers[name]
    }
  }
  // A group that limits nothing is not worth starting a process in.
  const used = new Set(Object.values(group.controllers).map(({ directory }) => directory))
  await removeGroups(group.directories.filter((directory) => !used.has(directory)))
  group.directories = [...used]

  const toxics = toxicsOf(asked)
  const missing = Object.entries(group.missing).map(([name, reason]) => `${limits[/** @type {import('./cgroup.js').Controller} */ (name)].what}: ${reason}`)
  if (!ownMongod && wanted.length > 0) missing.push('the database is not the stack\'s own (MONGODB_URI): neither its CPU nor its memory is limited')
  return {
    facts: {
      name: asked.name,
      sha256,
      asked,
      applied: { cpu: group.controllers.cpu !== undefined, memory: group.controllers.memory !== undefined, links: Object.values(toxics).some((list) => list.length > 0) },
      missing,
      calibration
    },
    group,
    toxics
  }
}

/**
 * Puts CPU share and links in force. What prepares a measurement (writing pages, warming up) is done before, at full speed.
 * @param {Stack} stack
 */
export async function engageProfile ({ profile, links_api: api }) {
  setCpuShare(profile.group, profile.facts.asked.origin.cpu_share)
  await replaceToxics(api, profile.toxics)
}

/**
 * Takes CPU share and links off again; memory stays limited.
 * @param {Stack} stack
 */
export async function disengageProfile ({ profile, links_api: api }) {
  setCpuShare(profile.group, null)
  await replaceToxics(api, {})
}

/**
 * @param {ProfileFacts} facts
 * @returns {string[]} one line each, for people
 */
export function profileLines ({ asked, applied, missing, calibration }) {
  const { origin, links, client } = asked
  const parts = [
    applied.cpu && `${(100 * Number(origin.cpu_share)).toFixed(1)} % of a core`,
    applied.memory && `${Math.round(Number(origin.memory_bytes) / 1024 ** 2)} MiB`,
    applied.links && `round trips ${links.client_edge_rtt_ms}/${links.client_origin_rtt_ms}/${links.edge_origin_rtt_ms} ms (client–edge, client–origin, edge–origin)`,
    applied.links && links.uplink_mbit_per_s !== null && `${links.uplink_mbit_per_s} Mb/s out of the origin`,
    applied.links && origin.delay_ms > 0 && `${origin.delay_ms} ms at the origin`,
    applied.links && client.overhead_ms > 0 && `${client.overhead_ms} ms at the client`
  ].filter(Boolean)
  return [
    `profile ${asked.name}: ${asked.title}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`,
    ...(calibration ? [`calibrated on ${calibration.experiment}, ${calibration.run}`] : []),
    ...missing.map((sentence) => `not as the profile asks: ${sentence}`)
  ]
}
