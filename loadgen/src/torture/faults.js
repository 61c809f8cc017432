import { createRandom } from '@stevec/harness/random'
import { pauseProcess } from '@stevec/harness/processes'

/** @import {Cluster} from './cluster.js' */
/** @import {Service} from './service.js' */

/**
 * @typedef {'kill' | 'pause' | 'cut'} Kind  kill -9; SIGSTOP, so that it hangs with open connections; a partition
 * @typedef {'primary' | 'secondary' | 'wiki' | 'redis' | 'nginx' | 'edge' | 'clients'} Target
 *
 * `choice`: which one, from 0 to below 1
 * @typedef {{target: Target, kind: Kind, choice: number, lasts_ms: number}} Fault
 *
 * Two faults hit different services at once.
 * @typedef {{after_ms: number, faults: Fault[]}} Step
 */

/** @type {[Target, Kind][]} */
const DATABASE = [
  ['primary', 'kill'], ['primary', 'cut'], ['primary', 'pause'], ['secondary', 'kill'], ['secondary', 'cut'],
  ['secondary', 'pause']
]
/** @type {[Target, Kind][]} */
const OTHERS = [
  ['wiki', 'kill'], ['wiki', 'cut'], ['wiki', 'pause'], ['redis', 'kill'], ['redis', 'cut'], ['redis', 'pause'],
  ['nginx', 'kill'], ['nginx', 'pause'], ['edge', 'kill'], ['edge', 'pause'], ['clients', 'cut']
]
const LASTS_MIN_MS = 1_000
const LASTS_MORE_MS = 7_000
const PAUSE_MAX_MS = 1_000
/** Share of steps whose first fault is one of the database. */
const DATABASE_SHARE = 0.45
/** Share of steps with a second fault. */
const PAIR_SHARE = 0.35

/**
 * The same seed, the same faults. Never two of the database at once: two of three nodes must be there to elect.
 * @param {{count: number, seed: number}} options
 * @returns {Step[]}
 */
export function planFaults ({ count, seed }) {
  const random = createRandom(seed)
  const deals = [createDeal(DATABASE, random), createDeal(OTHERS, random)]
  /** @type {Step[]} */
  const steps = []
  for (let left = count; left > 0;) {
    const first = random() < DATABASE_SHARE ? 0 : 1
    const both = left > 1 && random() < PAIR_SHARE
    const faults = (both ? [first, 1 - first] : [first]).map((deal) => {
      const [target, kind] = deals[deal]()
      // Short ones more often.
      return { target, kind, choice: random(), lasts_ms: Math.round(LASTS_MIN_MS + LASTS_MORE_MS * random() ** 2) }
    })
    steps.push({ after_ms: Math.round(PAUSE_MAX_MS * random()), faults })
    left -= faults.length
  }
  return steps
}

/**
 * Deals all items in random order, then begins again.
 * @template T @param {T[]} all @param {() => number} random @returns {() => T}
 */
function createDeal (all, random) {
  /** @type {T[]} */
  let left = []
  return () => {
    if (left.length === 0) left = [...all]
    return left.splice(Math.floor(random() * left.length), 1)[0]
  }
}

/**
 * @param {Cluster} cluster
 * @param {Fault} fault
 * @returns {Promise<{name: string, inject: () => Promise<unknown>, heal: () => Promise<unknown>}>}
 */
export async function aim (cluster, { target, kind, choice }) {
  const { clients } = cluster
  if (target === 'clients') return { name: 'the clients’ link', inject: clients.cut, heal: clients.join }
  const { name, service } = await serviceOf(cluster, target, choice)
  if (kind === 'kill') return { name, inject: service.kill, heal: service.start }
  if (kind === 'cut') {
    const { cut, join } = /** @type {Required<Service>} */ (service)
    return { name, inject: cut, heal: join }
  }
  // nginx's workers serve, its first process only watches them.
  const pids = () => target === 'nginx' || target === 'edge' ? cluster.workersOf(service) : [service.identity().pid]
  const paused = pids()
  return {
    name,
    inject: () => Promise.all(paused.map(pauseProcess)),
    heal: async () => { for (const pid of paused) process.kill(pid, 'SIGCONT') }
  }
}

/** @param {Cluster} cluster @param {Exclude<Target, 'clients'>} target @param {number} choice */
async function serviceOf (cluster, target, choice) {
  const { set, mongods, wikis } = cluster
  if (target === 'primary' || target === 'secondary') {
    const primary = await set.primary()
    const indexes = [...mongods.keys()].filter((index) => (index === primary) === (target === 'primary'))
    const index = indexes[Math.floor(choice * indexes.length)]
    return { name: `mongod ${index + 1} (${target})`, service: mongods[index] }
  }
  if (target !== 'wiki') return { name: target, service: cluster[target] }
  const index = Math.floor(choice * wikis.length)
  return { name: `wiki ${index + 1}`, service: wikis[index] }
}
