import { createLimit } from '../process/limit.js'
import { createInTurn } from './in-turn.js'
import { createMemory } from './memory.js'
import { createPace } from './pace.js'
import { sizeOf } from './save.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {Keep} from './keep.js' */
/** @import {DeferredSave} from './save.js' */
/** @import {Strategy} from './strategy.js' */

/** The database has a connection for each (DATABASE_POOL_MAX). */
const PARALLEL = 100

/**
 * When to commit what, of saves that were acknowledged. Those of one page stay in order by themselves.
 * @typedef {(save: DeferredSave) => void} CommitOne
 * @typedef {{max: number, waitMs: number, commitAlone: CommitOne, commitTogether: CommitOne}} Means
 * @typedef {{add: CommitOne, hurry: () => void, batches: () => number}} Scheduled  `hurry`: the wiki stops
 * @typedef {(means: Means) => Scheduled} Schedule
 */

/**
 * A strategy that keeps acknowledged saves in the memory of this process: they are lost with it.
 * @param {object} parts
 * @param {Schedule} parts.schedule
 * @param {number} parts.max  of saves that are collected
 * @param {number} parts.waitMs
 * @param {{maxRecords: number, maxBytes: number}} parts.limits
 * @param {Keep} parts.keep
 * @param {Pick<PageStore, 'commit' | 'commitTogether'>} parts.store
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error'>} parts.log
 * @returns {Strategy}
 */
export function createBuffered ({ schedule, max, waitMs, limits, keep: { keep, giveUp }, store, log }) {
  const pace = createPace()
  const memory = createMemory(limits, pace)
  let hurried = false
  const inTurn = createInTurn()
  const limit = createLimit(PARALLEL)

  const means = {
    max,
    waitMs,
    commitAlone: (/** @type {DeferredSave} */ save) =>
      settle(save, () => limit.run(() => stored(save, hurried ? store.commitTogether : store.commit))),
    commitTogether: (/** @type {DeferredSave} */ save) =>
      settle(save, () => stored(save, store.commitTogether))
  }
  const scheduled = schedule(means)

  /** @param {DeferredSave} save @param {import('./keep.js').Commit} commit */
  async function stored (save, commit) {
    pace.begin()
    return keep(save, commit).finally(pace.end)
  }

  /** However it is done otherwise: what waits when the wiki stops is stored in as few transactions as fit. */
  function hurry () {
    hurried = true
    scheduled.hurry()
  }

  /** @param {DeferredSave} save @param {() => Promise<import('./keep.js').Outcome>} work */
  async function settle (save, work) {
    const outcome = await inTurn(save.name, work)
    if (outcome !== 'given up') memory.remove(save)
  }

  return {
    refuseWhenFull: memory.refuseWhenFull,

    async add (save) {
      memory.refuseWhenFull(sizeOf(save))
      memory.add(save)
      scheduled.add(save)
    },

    isWaiting: async (id, name) => memory.has(id, name),
    waiting: memory.size,
    batches: scheduled.batches,
    async open () {},
    hurry,

    async close (withinMs) {
      hurry()
      /** @type {NodeJS.Timeout | undefined} */
      let timer
      const late = new Promise((resolve) => { timer = setTimeout(resolve, withinMs) })
      await Promise.race([memory.empty(), late])
      clearTimeout(timer)
      const { records: lost, bytes } = memory.size()
      giveUp()
      if (lost === 0) return
      log.error({ lost, bytes }, `the wiki had to stop: ${lost} acknowledged saves were not stored, and are lost`)
    }
  }
}
