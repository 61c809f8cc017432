import { createRandom } from '@stevec/harness/random'
import { judgeStaleness } from '../histories/staleness.js'
import { startEdges } from './edges.js'
import { loadDatabase, loadWiki } from './modules.js'
import { createTime } from './time.js'
import { createWorld } from './world.js'

/** @import {Edges} from './edges.js' */
/** @import {Event} from './events.js' */
/** @import {Time} from './time.js' */
/** @import {World} from './world.js' */
/** @import {Mutation} from './mutants.js' */

/** As the wiki's default of PURGE_REPEAT_AFTER_S. */
const REPEAT_AFTER_MS = 10_000
/** After the end, until the queue of purges is empty: no claim and no pause lasts longer than a minute. */
const EMPTY_MAX_MS = 300_000

/**
 * @typedef {object} Plan
 * @property {number} seed  an integer
 * @property {number} reads  after so many it ends
 * @property {number} [boundMs]
 * @property {import('./wiki.js').Policy} [policy]
 * @property {number} [repeatAfterMs]  when purges are sent a second time, if edits purge
 * @property {boolean} [withFaults]
 * @property {Mutation[]} [mutations]  planted faults
 * @property {(event: Event) => void} [trace]
 * @property {(cpuS: number) => void} [onLuaTime]  gets the processor time of the edges' Lua, at the end
 */

/**
 * `read_index`: of the first read that is older than the bound; -1: none is. `outdated`: what edges still showed that
 * was not the newest text, when nothing had failed for long and all purges had been sent. `lost_saves`: acknowledged
 * writes that the database has lost.
 * @typedef {ReturnType<typeof judgeStaleness> & {saves: number, hits: number, refused: number, lost: number,
 *   read_index: number, outdated: string[], lost_saves: number}} Simulated
 */

/**
 * Runs wikis, edges, readers and editors in virtual time, with faults. Nothing but the plan decides what happens.
 * @param {Plan} plan
 * @returns {Promise<Simulated>}
 */
export async function simulate ({
  seed, reads: wanted, boundMs = 500, policy = 'bounded', repeatAfterMs = REPEAT_AFTER_MS, withFaults = true,
  mutations = [], trace = () => {}, onLuaTime
}) {
  const modules = await loadWiki(mutations.filter(({ where }) => where === 'wiki'))
  const createDatabase = await loadDatabase(mutations.filter(({ where }) => where === 'database'))
  const edges = startEdges(mutations.filter(({ where }) => where === 'edge'))
  try {
    const random = createRandom(seed)
    const time = createTime()
    /** @type {import('./events.js').Say} */
    const say = (event) => trace({ at_ms: time.now(), ...event })
    const world = createWorld({ time, random, modules, edges, createDatabase, boundMs, policy, repeatAfterMs, say })
    world.start({ withFaults })
    const { reads, saves, counts } = world.history
    await time.run(() => reads.length >= wanted || world.failure() !== null, () => settled(edges))
    if (world.failure() !== null) throw world.failure()
    const judged = judgeStaleness({ reads, saves }, boundMs)
    const readIndex = judged.violations.length === 0 ? -1 : reads.indexOf(judged.violations[0])
    const outdated = policy === 'bounded' ? [] : await outdatedAfter({ time, world, edges })
    if (onLuaTime) onLuaTime((await edges.ask({ what: 'time' })).cpu_s)
    return {
      ...judged, saves: saves.length, ...counts, read_index: readIndex, outdated, lost_saves: world.database.lost()
    }
  } finally {
    await edges.stop()
  }
}

/** @param {{time: Time, world: World, edges: Edges}} parts */
async function outdatedAfter ({ time, world, edges }) {
  world.end()
  const endMs = time.now() + EMPTY_MAX_MS
  await time.run(() => world.database.queued() === 0 || time.now() > endMs || world.failure() !== null,
    () => settled(edges))
  if (world.failure() !== null) throw world.failure()
  if (world.database.queued() > 0) throw new Error(`after ${EMPTY_MAX_MS / 60_000} minutes purges are still queued`)
  return world.outdated()
}

/** @param {Edges} edges  the only ones that are asked in real time */
async function settled (edges) {
  do await new Promise((resolve) => { setImmediate(resolve) })
  while (edges.isBusy())
}
