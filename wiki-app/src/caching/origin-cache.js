import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Connection} from 'mongoose' */

/** The database reports after so long that nothing has changed. */
const AWAIT_MS = 500
/** How long copies outlive the last report: a silent database may have changes. */
const SILENCE_MAX_MS = 1_500
const RETRY_MS = 500
/** After so many waits without a read the stream closes. */
const IDLE_WAITS_MAX = 20
/** A change that a failover rolls back is not reported: copies of it expire by age. */
const COPY_MAX_MS = 60_000

/**
 * Keeps pages until the change stream reports their change; until then, at most for SILENCE_MAX_MS + AWAIT_MS, a client
 * may get the previous page. https://www.mongodb.com/docs/manual/changeStreams/
 * @template {{detached: () => View, held_bytes: number}} View  `detached`: a copy that holds no memory but its own
 * @param {{connection: Connection, collection: string, maxBytes: number, log: FastifyBaseLogger}} options  keyed by _id
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createOriginCache ({ connection, collection, maxBytes, log }) {
  /** @type {LRUCache<string, View>} */
  const copies = new LRUCache({
    maxSize: maxBytes, ttl: COPY_MAX_MS, ttlResolution: 1_000, sizeCalculation: (view) => view.held_bytes
  })
  /** A read that a change overtakes is not cached. @type {Map<string, Set<{overtaken: boolean}>>} */
  const reads = new Map()
  const closing = new AbortController()
  let freshUntilMs = 0
  let outageLogged = false
  let watching = Promise.resolve()
  let idleWaits = 0
  let wake = () => {}

  function isFresh () {
    if (idleWaits > 0) {
      idleWaits = 0
      wake()
    }
    return performance.now() < freshUntilMs
  }

  /** @param {string} name */
  function evict (name) {
    copies.delete(name)
    for (const read of reads.get(name) ?? []) read.overtaken = true
  }

  function evictAll () {
    copies.clear()
    for (const name of reads.keys()) evict(name)
  }

  async function watchOnce () {
    const stream = /** @type {import('mongodb').Db} */ (connection.db)
      .collection(collection)
      .watch([{ $project: { operationType: 1, documentKey: 1 } }], { maxAwaitTimeMS: AWAIT_MS })
    const stop = () => { stream.close().catch(() => {}) }
    closing.signal.addEventListener('abort', stop, { once: true })
    const sinceMs = performance.now()
    try {
      while (!closing.signal.aborted && idleWaits < IDLE_WAITS_MAX) {
        const change = /** @type {null | {operationType: string, documentKey?: {_id: string}}} */ (
          /** @type {unknown} */ (await stream.tryNext()))
        // The collection is gone: the driver would report no change, without any wait.
        if (change?.operationType === 'invalidate' || stream.closed) return
        if (change?.documentKey) evict(change.documentKey._id)
        else if (change) evictAll()
        else idleWaits += 1
        freshUntilMs = performance.now() + SILENCE_MAX_MS
        // A stream that breaks at once is in the same outage.
        if (performance.now() - sinceMs > SILENCE_MAX_MS) outageLogged = false
      }
    } finally {
      closing.signal.removeEventListener('abort', stop)
      freshUntilMs = 0
      evictAll()
      await stream.close().catch(() => {})
    }
  }

  async function watchUntilClosed () {
    while (!closing.signal.aborted) {
      try {
        if (connection.db) await watchOnce()
        if (idleWaits >= IDLE_WAITS_MAX) {
          await new Promise((resolve) => { wake = () => resolve(undefined) })
          continue
        }
      } catch (error) {
        if (!outageLogged && !closing.signal.aborted) {
          log.warn(`the change stream reports no changes, so no pages are cached: ${/** @type {Error} */ (error).message}`)
        }
        outageLogged = true
      }
      await sleep(RETRY_MS, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    }
  }

  return {
    /** @param {string} name */
    get: (name) => isFresh() ? copies.get(name) : undefined,

    /** @param {string} name @param {() => Promise<View | null>} read */
    async through (name, read) {
      if (!isFresh()) return read()
      const flight = { overtaken: false }
      const all = reads.get(name) ?? new Set()
      reads.set(name, all.add(flight))
      try {
        const view = await read()
        if (view === null || flight.overtaken || !isFresh()) return view
        const copy = view.detached()
        copies.set(name, copy)
        return copy
      } finally {
        all.delete(flight)
        if (all.size === 0) reads.delete(name)
      }
    },

    async open () { watching = watchUntilClosed() },
    async close () {
      closing.abort()
      wake()
      await watching
    }
  }
}

/**
 * @template {{detached: () => View, held_bytes: number}} View
 * @typedef {ReturnType<typeof createOriginCache<View>>} OriginCache
 */
