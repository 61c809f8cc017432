import { ObjectId } from 'mongodb'
import * as documents from './documents.js'
import * as model from './replica-set.js'

/** @import {Document, Filter, Order} from './documents.js' */
/** @import {LogDocument, ReplicaSet} from './replica-set.js' */
/** @import {Time} from './time.js' */

const AWAIT_MS = 1_000

/**
 * A model of a replica set, as the driver shows it to processes: pages, the purge log, and the queue of things to do.
 * While the primary is cut off, processes that still talk to it read what it had, hear nothing new, and have no write
 * acknowledged.
 * @param {{time: Time, random: () => number, createReplicaSet?: typeof model.createReplicaSet}} parts
 */
export function createDatabase ({ time, random, createReplicaSet = model.createReplicaSet }) {
  const set = createReplicaSet({ time, random })
  /** By page: the position of each revision, from 1 on. @type {Map<string, number[]>} */
  const pages = new Map()
  const stored = { pages, queue: /** @type {Document[]} */ ([]), ids: 0 }
  /** @type {Set<ReturnType<typeof createConnection>>} */
  const connections = new Set()
  return {
    /** @param {{readConcern?: 'majority' | 'local'}} [options]  of pages */
    connect ({ readConcern = 'majority' } = {}) {
      const connection = createConnection({ time, random, set, stored, readConcern })
      connections.add(connection)
      return { ...connection, close: () => { connections.delete(connection) } }
    },

    /** Another primary is elected; each process learns it at its own time. @param {number} learnMaxMs */
    cutOffPrimary (learnMaxMs) {
      if (!set.partPrimary(learnMaxMs)) return
      for (const connection of connections) {
        connection.cutOff()
        time.after(learnMaxMs * random(), connection.findPrimary)
      }
    },

    /**
     * Servers lose what is not on their disks, and come back within so long.
     * @param {number[]} numbers @param {number} ms
     */
    crash (numbers, ms) {
      if (!set.crash(numbers, ms)) return
      for (const connection of connections) connection.breakOff()
    },

    /** The number of the server; null: none is elected. */
    primary: set.primary,
    /** Acknowledged writes that no server has: a fault of the database. */
    lost: set.lost,
    /** What a majority has. @param {string} page @returns {number} its revision */
    newest: (page) => revisionOf(pages.get(page), positionAt(set, set.committed())),
    queued: () => stored.queue.length
  }
}

/** @typedef {ReturnType<typeof createDatabase>} Database */
/** @typedef {{pages: Map<string, number[]>, queue: Document[], ids: number}} Stored */

/** @param {ReplicaSet} set @param {number} length @returns {number} of the last operation */
const positionAt = (set, length) => length === 0 ? 0 : set.log[length - 1].position

/** @param {number[] | undefined} positions @param {number} upTo */
const revisionOf = (positions = [], upTo) => positions.filter((position) => position <= upTo).length

/**
 * `old`: what the server has that the process talks to, if that is no longer the primary. `own`: the document that
 * the process's marks are in.
 * @typedef {{old: {known: number, position: number, queue: Document[]} | null, isStreamBroken: boolean,
 *   own: string}} State
 */

/**
 * Of one process.
 * @param {{time: Time, random: () => number, set: ReplicaSet, stored: Stored, readConcern: 'majority' | 'local'}} parts
 */
function createConnection ({ time, random, set, stored, readConcern }) {
  /** @type {State} */
  const state = { old: null, isStreamBroken: false, own: '' }
  const latency = () => time.sleep(0.5 + 4 * random())
  const reached = () => positionAt(set, readConcern === 'majority' ? set.known() : set.log.length)

  async function someServer (after = 0) {
    await latency()
    while ((state.old === null && !set.hasPrimary()) || (state.old?.position ?? reached()) < after) await time.sleep(5)
  }

  /**
   * Acknowledged when a majority has it on disk.
   * @param {() => LogDocument | null} document @param {(position: number) => () => void} change
   */
  async function write (document, change) {
    await latency()
    for (;;) {
      const wasCutOff = state.old !== null
      // The driver tries again at the new primary, once it knows that the old one is none.
      while (state.old !== null || !set.hasPrimary()) await time.sleep(5)
      if (wasCutOff && random() < 0.5) throw new Error('the server is no longer primary')
      const isCommitted = await set.append(document(), change).ended
      while (state.old !== null) await time.sleep(5)
      if (isCommitted) break
      if (random() < 0.5) throw new Error('the server was no longer primary')
    }
    await latency()
  }

  return {
    cutOff () {
      state.old = { known: set.known(), position: reached(), queue: stored.queue }
      state.isStreamBroken = random() < 0.5
    },
    breakOff () { state.isStreamBroken = random() < 0.5 },
    findPrimary () {
      state.old = null
      set.news.tell()
    },

    /**
     * @param {string} page @param {(revision: number) => LogDocument | null} documentOf  for the purge log
     * @param {(revision: number) => object[]} [entriesOf]  for the queue
     * @returns {Promise<number>} its revision
     */
    async save (page, documentOf, entriesOf = () => []) {
      const positions = stored.pages.get(page) ?? []
      stored.pages.set(page, positions)
      let revision = 0
      await write(() => documentOf(positions.length + 1), (position) => {
        revision = positions.push(position)
        const before = stored.queue
        stored.queue = [...before, ...entriesOf(revision).map((entry) => ({ _id: nextId(stored), ...entry }))]
        return () => {
          positions.pop()
          stored.queue = before
        }
      })
      return revision
    },

    /** Waits for position `after`. @param {string} page @param {number} [after] @returns {Promise<number>} 0: none */
    async read (page, after) {
      await someServer(after)
      const revision = revisionOf(stored.pages.get(page), state.old?.position ?? reached())
      await latency()
      return revision
    },

    /** As the driver's. @param {{_id: string}} filter @param {object} replacement */
    async replaceOne ({ _id }, replacement) {
      state.own = _id
      await write(() => ({ _id, ...replacement }), () => () => {})
    },

    watch: () => createStream({ time, random, set, state }),
    queue: createQueueCollection({ stored, state, write, latency, someServer })
  }
}

/** @param {Stored} stored */
const nextId = (stored) => ObjectId.createFromHexString((++stored.ids).toString(16).padStart(24, '0'))

/**
 * What the wiki's queue uses of the driver's collection; reads are local.
 * @param {{stored: Stored, state: State, write: (document: () => null, change: () => () => void) => Promise<void>,
 *   latency: () => Promise<void>, someServer: () => Promise<void>}} parts
 */
function createQueueCollection ({ stored, state, write, latency, someServer }) {
  /** @param {(documents: Document[]) => Document[]} change */
  const changed = (change) => write(() => null, () => {
    const before = stored.queue
    stored.queue = change(before)
    return () => { stored.queue = before }
  })
  /** @param {(now: Document[]) => {documents: Document[], count: number}} change @returns {Promise<number>} */
  async function counted (change) {
    let count = 0
    await changed((now) => {
      const result = change(now)
      count = result.count
      return result.documents
    })
    return count
  }

  /** @param {Filter} filter @param {Order} [order] @returns {Promise<Document[]>} */
  async function read (filter, order) {
    await someServer()
    const found = documents.find(state.old?.queue ?? stored.queue, filter, order)
    await latency()
    return found
  }

  return {
    /** @param {Filter} filter @param {Order} [order] */
    find: (filter, order) => ({ toArray: () => read(filter, order) }),
    /** @param {Filter} filter @returns {Promise<Document | null>} */
    findOne: async (filter) => (await read(filter, { limit: 1 }))[0] ?? null,
    /** @param {Filter} filter @param {Order} [order] */
    countDocuments: async (filter, order) => (await read(filter, order)).length,
    /** @param {Filter} filter @param {{$set: object}} update */
    updateMany: async (filter, update) =>
      ({ matchedCount: await counted((now) => documents.update(now, filter, update)) }),
    /** @param {Filter} filter */
    deleteMany: async (filter) => ({ deletedCount: await counted((now) => documents.remove(now, filter)) }),
    /** An upsert. @param {Filter} filter @param {{$setOnInsert: object}} update @returns {Promise<Document | null>} */
    async findOneAndUpdate (filter, update) {
      /** @type {Document | null} */
      let found = null
      await changed((now) => {
        found = documents.find(now, filter, { limit: 1 })[0] ?? null
        if (found !== null) return now
        found = documents.upserted(nextId(stored), filter, update)
        return [...now, found]
      })
      return found
    }
  }
}

/**
 * A change stream of the purge log, which goes on where it was when the primary changes, unless the driver gives up.
 * @param {{time: Time, random: () => number, set: ReplicaSet, state: State}} parts
 */
function createStream ({ time, random, set, state }) {
  const known = () => state.old?.known ?? set.known()
  let at = known()

  /** Entries, and marks of this process. */
  function next () {
    while (at < known()) {
      const { position, document } = set.log[at++]
      if (document === null || (document.stale === undefined && document._id !== state.own)) continue
      return { operationType: 'insert', clusterTime: { toUnsigned: () => BigInt(position) }, fullDocument: document }
    }
    return null
  }

  const stream = {
    closed: false,
    async close () { stream.closed = true },
    async tryNext () {
      const endMs = time.now() + AWAIT_MS
      for (;;) {
        await time.sleep(0.2 + random())
        if (state.isStreamBroken && state.old === null) {
          state.isStreamBroken = false
          throw new Error('the stream cannot be resumed')
        }
        const change = next()
        if (change !== null || time.now() >= endMs || stream.closed) return change
        await set.news.next(endMs - time.now())
      }
    }
  }
  return stream
}
