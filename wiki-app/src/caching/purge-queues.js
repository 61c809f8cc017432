import { createPurgeQueue } from './purge-queue.js'

/** @import {Purge} from './purge-batch.js' */
/** @import {PurgeQueue} from './purge-queue.js' */

/**
 * `api`: the caches that a queue purges. `others`: the APIs of the other queues; this one takes the entries of every
 * API but theirs. null: it takes those of `api` alone.
 * @typedef {{api: string, others: string[] | null}} Target
 */

/**
 * One queue for each purge API: an edit adds an entry to each, so a cache that does not respond delays no other. The
 * first queue also takes the entries of APIs that the settings no longer name.
 * @param {Omit<Parameters<typeof createPurgeQueue>[0], 'purge' | 'target'> & {purges: Record<string, Purge>}} parts
 *   purges: by API
 * @returns {PurgeQueue}
 */
export function createPurgeQueues ({ purges, ...parts }) {
  const queues = Object.entries(purges).map(([api, purge], index, all) => {
    const others = index === 0 ? all.slice(1).map(([other]) => other) : null
    return createPurgeQueue({ ...parts, purge, target: { api, others } })
  })
  return {
    ofCommits: (commits) => queues.flatMap((queue) => queue.ofCommits(commits)),
    ofCounted: (recounted) => queues.flatMap((queue) => queue.ofCounted(recounted)),
    ofUrls: (urls) => queues.flatMap((queue) => queue.ofUrls(urls)),
    ofEverything: () => queues.flatMap((queue) => queue.ofEverything()),
    added () { for (const queue of queues) queue.added() },
    isPurged: async (names) => (await Promise.all(queues.map((queue) => queue.isPurged(names)))).every(Boolean),
    state: () => together(queues.map((queue) => queue.state())),
    async waitUntilPurged (names) { await Promise.all(queues.map((queue) => queue.waitUntilPurged(names))) },
    async open () { for (const queue of queues) await queue.open() },
    async close () { await Promise.all(queues.map((queue) => queue.close())) }
  }
}

/**
 * @param {ReturnType<PurgeQueue['state']>[]} states
 * @returns {ReturnType<PurgeQueue['state']>} `failing`: whether any is, since the first of them is
 */
function together (states) {
  const failing = states.filter((state) => state.failing)
  const times = (failing.length > 0 ? failing : states).map(({ since }) => since.getTime())
  const purged = states.flatMap(({ purgedAt }) => purgedAt?.getTime() ?? [])
  const lagsS = states.flatMap(({ lagS }) => lagS ?? [])
  const oldest = states.flatMap(({ oldestAt }) => oldestAt?.getTime() ?? [])
  return {
    failing: failing.length > 0,
    since: new Date(failing.length > 0 ? Math.min(...times) : Math.max(...times)),
    purgedAt: purged.length === 0 ? null : new Date(Math.max(...purged)),
    lagS: lagsS.length === 0 ? null : Math.max(...lagsS),
    waiting: states.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestAt: oldest.length === 0 ? null : new Date(Math.min(...oldest))
  }
}
