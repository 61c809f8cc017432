import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** How long the database may wait for a change before it says that there was none. */
const AWAIT_MS = 500
/** For how long after its last word copies are good: a database that says nothing may have changes to tell. */
const SILENCE_MAX_MS = 1_500
const RETRY_MS = 500
/** After so many waits without a reader the stream is closed and copies are dropped, until the next reader comes. */
const UNREAD_WAITS_MAX = 20
/** Of a change that a failover took back nobody is told: a copy that was read in between goes by its age. */
const KEPT_MAX_MS = 60_000

/**
 * Pages in this process's memory, ready to be sent, each until the database's change stream tells of a change of it. Between the moment that an edit is acknowledged
 * and its notice a reader may get the page before it, milliseconds mostly and at most SILENCE_MAX_MS + AWAIT_MS: without word from the database nothing is answered from here.
 * https://www.mongodb.com/docs/manual/changeStreams/
 * @template {{detached: () => View, held_bytes: number}} View  `detached`: a copy that holds no other memory than its
 *   own
 * @param {object} options
 * @param {import('mongoose').Connection} options.connection
 * @param {string} options.collection  its documents' _id are the keys
 * @param {number} options.maxBytes  the least recently used go first
 * @param {import('fastify').FastifyBaseLogger} options.log
 */
export function createOriginCache ({ connection, collection, maxBytes, log }) {
  /** @type {LRUCache<string, View>} */
  const kept = new LRUCache({
    maxSize: maxBytes, ttl: KEPT_MAX_MS, ttlResolution: 1_000, sizeCalculation: (view) => view.held_bytes
  })
  /** Reads under way; one that a change has overtaken is not kept. @type {Map<string, Set<{overtaken: boolean}>>} */
  const reads = new Map()
  const closing = new AbortController()
  let heardUntilMs = 0
  let missed = false
  let following = Promise.resolve()
  /** Waits for a change since a page was last read from here. */
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
    const stream = /** @type {import('mongodb').Db} */ (connection.db).collection(collection).watch([{ $project: { operationType: 1, documentKey: 1 } }], { maxAwaitTimeMS: AWAIT_MS })
    const stop = () => { stream.close().catch(() => {}) }
    closing.signal.addEventListener('abort', stop, { once: true })
    const sinceMs = performance.now()
    try {
      while (!closing.signal.aborted && unreadWaits < UNREAD_WAITS_MAX) {
        const change = /** @type {null | {operationType: string, documentKey?: {_id: string}}} */ (/** @type {unknown} */ (await stream.tryNext()))
        // The collection is gone, and the stream ends; the driver would go on to say, without a wait, that nothing has changed.
        if (change?.operationType === 'invalidate' || stream.closed) return
        if (change?.documentKey) forget(change.documentKey._id)
        else if (change) forgetAll()
        else unreadWaits += 1
        heardUntilMs = performance.now() + SILENCE_MAX_MS
        // A stream that breaks again at once is still the same outage.
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
        // Once an outage: it is tried again every other second, and pages are read from the database meanwhile.
        if (!missed && !closing.signal.aborted) log.warn(`no changes of pages are heard of, so none is kept: ${/** @type {Error} */ (error).message}`)
        missed = true
      }
      await sleep(RETRY_MS, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    }
  }

  return {
    /** @param {string} name @returns {View | undefined} */
    get: (name) => hears() ? kept.get(name) : undefined,

    /**
     * Reads a page, and keeps it unless it changed meanwhile.
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

    /** Follows the changes from when there is a database. */
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
