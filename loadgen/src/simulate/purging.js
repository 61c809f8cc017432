import { tagsFor, urlsFor } from '@stevec/wiki-app/caching/invalidation'
import { createEntries } from '@stevec/wiki-app/queue/entries'

/** @import {Database} from './database.js' */
/** @import {WikiModules} from './modules.js' */
/** @import {startProcess} from './process.js' */

/** @typedef {import('@stevec/wiki-app/caching/invalidation').Stale} Stale */
/** @typedef {import('@stevec/wiki-app/caching/purge-batch').Purge} Purge */

/** As the wiki's client, @stevec/cdn/wiki. */
export const PURGE_CALL_MAX_MS = 15_000
const [ATTEMPTS_MAX, PAUSE_MAX_MS] = [2, 1_000]

/**
 * How a process of the wiki purges each edge: by one queue for each, whose entries the edit's transaction writes. What
 * runs is the wiki's own code; only the collection, the clock and the calls are simulated.
 * @param {{modules: WikiModules, policy: 'purge-url' | 'purge-tag', connection: ReturnType<Database['connect']>,
 *   process: ReturnType<typeof startProcess>, random: () => number, purges: Record<string, Purge>,
 *   repeatAfterMs: number}} parts  purges: calls of each edge's purge API
 */
export function createPurging ({ modules, policy, connection, process, random, purges, repeatAfterMs }) {
  const queues = modules.createPurgeQueues({
    connection: modelOf(collectionOf(connection.queue, process.seen)),
    purges: Object.fromEntries(Object.entries(purges).map(([api, purge]) =>
      [api, clientOf(purge, process, random)])),
    staleOf: policy === 'purge-url' ? (commit) => urlsFor(commit) : tagsFor,
    staleByCounts: () => null,
    log: { warn () {}, error () {} },
    timing: { repeatAfterMs },
    clock: process.clock,
    random
  })
  return {
    queues,
    /** @param {string} name @param {number} revision @returns {object[]} as the edit's transaction writes them */
    entriesOf (name, revision) {
      const commit = { name, revision, authors: [], tags: [], linking: [], links: [], listed: false, above: [] }
      /** @type {object[]} */
      const added = []
      const insertMany = async (/** @type {object[]} */ entries) => { added.push(...entries) }
      createEntries(modelOf({ insertMany }), process.clock).add(queues.ofCommits([commit]), /** @type {any} */ (null))
      return added
    }
  }
}

/** @param {object} collection @returns {any} what the queue uses of a mongoose connection */
const modelOf = (collection) => ({ model: () => ({ collection }) })

/** Answers that the process sees. @param {any} queue @param {ReturnType<typeof startProcess>['seen']} seen */
function collectionOf (queue, seen) {
  const call = (/** @type {string} */ name) => (/** @type {any[]} */ ...given) => seen(queue[name](...given))
  return {
    find: (/** @type {object} */ filter, /** @type {object} */ order) =>
      ({ toArray: () => seen(queue.find(filter, order).toArray()) }),
    ...Object.fromEntries(['findOne', 'countDocuments', 'updateMany', 'deleteMany', 'findOneAndUpdate']
      .map((name) => [name, call(name)]))
  }
}

/**
 * As the wiki's client calls a purge API.
 * @param {Purge} call @param {Pick<ReturnType<typeof startProcess>, 'clock' | 'seen'>} process
 * @param {() => number} random
 * @returns {Purge}
 */
const clientOf = (call, { clock, seen }, random) => async (stale) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await seen(call(stale))
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX) throw error
      await clock.sleep(PAUSE_MAX_MS * random())
    }
  }
}
