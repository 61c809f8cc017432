import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** How long the database may wait for a change before it reports that there was none. */
const AWAIT_MS = 500
/** How long copies stay valid after the last report: a silent database may have changes to report. */
const SILENCE_MAX_MS = 1_500
const RETRY_MS = 500
/** After so many waits without a read, the stream closes and all copies are dropped until the next read. */
const UNREAD_WAITS_MAX = 20
/** The stream does not report a change that a failover rolls back: a copy read before that expires by age. */
const KEPT_MAX_MS = 60_000

/**
 * Caches pages in this process's memory, ready to be sent, each until the database's change stream reports a change of
 * it. Between the acknowledgement of an edit and its report a client may get the previous page, mostly for milliseconds
 * and at most for SILENCE_MAX_MS + AWAIT_MS: without reports from the database the cache serves nothing.
 * https://www.mongodb.com/docs/manual/changeStreams/
 * @template {{detached: () => View, held_bytes: number}} View  `detached`: a copy that holds no memory but its own
 * @param {object} options
 * @param {import('mongoose').Connection} options.connection
 * @param {string} options.collection  its documents' _id are the keys
 * @param {number} options.maxBytes  the least recently used pages are evicted first
 * @param {import('fastify').FastifyBaseLogger} options.log
 */
export function createOriginCache ({ connection, collection, maxBytes, log }) {
  /** @type {LRUCache<string, View>} */
  const kept = new LRUCache({
    maxSize: maxBytes, ttl: KEPT_MAX_MS, ttlResolution: 1_000, sizeCalculation: (view) => view.held_bytes
  })
  /**
   * Reads in flight. The result of a read that a change overtakes is not cached.
   * @type {Map<string, Set<{overtaken: boolean}>>}
   */
  const reads = new Map()
  const closing = new AbortController()
  let heardUntilMs = 0
  let missed = false
  let following = Promise.resolve()
  /** Waits for a change since the last read from this cache. */
  let unreadWaits = 0
  let wake = () => {}

  function hears () {
    if (unreadWaits > 0) {
      unreadWaits = 0
      wake()
    }
    return performance.now() < heardUntilMs
  }

  /** @param {string} name */
  function forget (name) {
    kept.delete(name)
    for (const read of reads.get(name) ?? []) read.overtaken = true
  }

  function forgetAll () {
    kept.clear()
    for (const name of reads.keys()) forget(name)
  }

  async function follow () {
    const stream = /** @type {import('mongodb').Db} */ (connection.db)
      .collection(collection)
      .watch([{ $project: { operationType: 1, documentKey: 1 } }], { maxAwaitTimeMS: AWAIT_MS })
    const stop = () => { stream.close().catch(() => {}) }
    closing.signal.addEventListener('abort', stop, { once: true })
    const sinceMs = performance.now()
    try {
      while (!closing.signal.aborted && unreadWaits < UNREAD_WAITS_MAX) {
        const change = /** @type {null | {operationType: string, documentKey?: {_id: string}}} */ (
          /** @type {unknown} */ (await stream.tryNext()))
        // The collection is gone and the stream has ended. The driver would go on to report, without any wait, that
        // nothing has changed.
        if (change?.operationType === 'invalidate' || stream.closed) return
        if (change?.documentKey) forget(change.documentKey._id)
        else if (change) forgetAll()
        else unreadWaits += 1
        heardUntilMs = performance.now() + SILENCE_MAX_MS
        // A stream that breaks again at once belongs to the same outage.
        if (performance.now() - sinceMs > SILENCE_MAX_MS) missed = false
      }
    } finally {
      closing.signal.removeEventListener('abort', stop)
      heardUntilMs = 0
      forgetAll()
      await stream.close().catch(() => {})
    }
  }

  async function followOn () {
    while (!closing.signal.aborted) {
      try {
        if (connection.db) await follow()
        if (unreadWaits >= UNREAD_WAITS_MAX) {
          await new Promise((resolve) => { wake = () => resolve(undefined) })
          continue
        }
      } catch (error) {
        // Logged once per outage; pages are read from the database meanwhile.
        if (!missed && !closing.signal.aborted) {
          log.warn(`no changes of pages are heard of, so none is kept: ${/** @type {Error} */ (error).message}`)
        }
        missed = true
      }
      await sleep(RETRY_MS, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    }
  }

  return {
    /** @param {string} name @returns {View | undefined} */
    get: (name) => hears() ? kept.get(name) : undefined,

    /**
     * Reads a page, and caches it unless it changed meanwhile.
     * @param {string} name
     * @param {() => Promise<View | null>} read
     * @returns {Promise<View | null>}
     */
    async through (name, read) {
      if (!hears()) return read()
      const mine = { overtaken: false }
      const all = reads.get(name) ?? new Set()
      reads.set(name, all.add(mine))
      try {
        const view = await read()
        if (view === null || mine.overtaken || !hears()) return view
        const copy = view.detached()
        kept.set(name, copy)
        return copy
      } finally {
        all.delete(mine)
        if (all.size === 0) reads.delete(name)
      }
    },

    /** Follows the changes as soon as there is a database. */
    async open () { following = followOn() },
    async close () {
      closing.abort()
      wake()
      await following
    }
  }
}

/**
 * @template {{detached: () => View, held_bytes: number}} View
 * @typedef {ReturnType<typeof createOriginCache<View>>} OriginCache
 */
