/** @import {Time} from './time.js' */

/** @typedef {{_id: string, stale?: object, mark?: number}} LogDocument */
/**
 * `position`: its place in the log of operations.
 * @typedef {{position: number, document: LogDocument}} Operation
 */

const AWAIT_MS = 1_000
/** Servers elect another primary within so long. MongoDB takes longer, but for a step-down. */
const ELECTION_MAX_MS = 800

/**
 * A model of a replica set, as the driver shows it. What is stored has a majority. The primary can be cut off:
 * processes that still talk to it read what it had, hear nothing new, and have no write acknowledged.
 * @param {{time: Time, random: () => number}} parts
 */
export function createDatabase ({ time, random }) {
  const stored = createStored(time)
  /** @type {Set<ReturnType<typeof createConnection>>} */
  const connections = new Set()
  let electedAtMs = 0
  const connect = () => {
    const connection = createConnection({ time, random, stored, isElected: () => time.now() >= electedAtMs })
    connections.add(connection)
    return { ...connection, close: () => { connections.delete(connection) } }
  }
  return {
    connect,
    /** Another primary is elected; each process learns it at its own time. @param {number} learnMaxMs */
    cutOffPrimary (learnMaxMs) {
      electedAtMs = time.now() + ELECTION_MAX_MS * random()
      for (const connection of connections) {
        connection.cutOff()
        time.after(learnMaxMs * random(), connection.findPrimary)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createDatabase>} Database */

/** What a majority of the servers has. @param {Time} time */
function createStored (time) {
  /** @type {Operation[]} */
  const log = []
  /** By page: the position of each revision, from 1 on. @type {Map<string, number[]>} */
  const pages = new Map()
  /** @type {Set<() => void>} */
  const listeners = new Set()
  const tell = () => { for (const listener of listeners) listener() }
  return {
    log,
    tell,
    /** @param {LogDocument} document */
    append (document) {
      log.push({ position: log.length + 1, document })
      tell()
    },
    /** @param {string} page @returns {number[]} to be added to */
    positionsOf (page) {
      const positions = pages.get(page) ?? []
      pages.set(page, positions)
      return positions
    },
    /** @param {number} maxMs @returns {Promise<void>} at the next operation, or then */
    news: (maxMs) => new Promise((resolve) => {
      const end = () => {
        cancel()
        listeners.delete(end)
        resolve()
      }
      const cancel = time.after(maxMs, end)
      listeners.add(end)
    })
  }
}

/**
 * Of one process.
 * @param {{time: Time, random: () => number, stored: ReturnType<typeof createStored>, isElected: () => boolean}} parts
 */
function createConnection ({ time, random, stored, isElected }) {
  /** `has`: what the server has that it talks to; null: it is the primary. `own`: the document that marks are in. */
  const state = { has: /** @type {number | null} */ (null), isStreamBroken: false, own: '' }
  const latency = () => time.sleep(0.5 + 4 * random())

  /** @param {() => void} write  at the primary */
  async function atPrimary (write) {
    await latency()
    const wasCutOff = state.has !== null
    // The driver tries again at the new primary, once it knows that the old one is none.
    while (state.has !== null || !isElected()) await time.sleep(5)
    if (wasCutOff && random() < 0.5) throw new Error('the server is no longer primary')
    write()
    await latency()
  }

  return {
    cutOff () {
      state.has = stored.log.length
      state.isStreamBroken = random() < 0.5
    },
    findPrimary () {
      state.has = null
      stored.tell()
    },

    /** @param {string} page @param {(revision: number) => LogDocument} documentOf @returns {Promise<number>} */
    async save (page, documentOf) {
      const positions = stored.positionsOf(page)
      let revision = 0
      await atPrimary(() => {
        revision = positions.push(stored.log.length + 1)
        stored.append(documentOf(revision))
      })
      return revision
    },

    /** @param {string} page @returns {Promise<number>} its revision; 0: there is none */
    async read (page) {
      await latency()
      const upTo = state.has ?? stored.log.length
      const revision = stored.positionsOf(page).filter((position) => position <= upTo).length
      await latency()
      return revision
    },

    /** As the driver's. @param {{_id: string}} filter @param {object} replacement */
    async replaceOne ({ _id }, replacement) {
      state.own = _id
      await atPrimary(() => stored.append({ _id, ...replacement }))
    },

    watch: () => createStream({ time, random, stored, state })
  }
}

/**
 * A change stream, which goes on where it was when the primary changes, unless the driver gives up.
 * @param {{time: Time, random: () => number, stored: ReturnType<typeof createStored>,
 *   state: {has: number | null, isStreamBroken: boolean, own: string}}} parts
 */
function createStream ({ time, random, stored, state }) {
  const known = () => state.has ?? stored.log.length
  let at = known()

  /** Entries, and marks of this process. */
  function next () {
    while (at < known()) {
      const { position, document } = stored.log[at++]
      if (document.stale === undefined && document._id !== state.own) continue
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
        if (state.isStreamBroken && state.has === null) {
          state.isStreamBroken = false
          throw new Error('the stream cannot be resumed')
        }
        const change = next()
        if (change !== null || time.now() >= endMs || stream.closed) return change
        await stored.news(endMs - time.now())
      }
    }
  }
  return stream
}
