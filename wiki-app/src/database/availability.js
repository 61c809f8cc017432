import mongoose from 'mongoose'
import { createInFlight } from '../process/in-flight.js'

const { mongo } = mongoose

/**
 * Ticks are counted instead of time: between two of them the event loop has read whatever had come, so a process that was busy for a second
 * does not take its own silence for the database's.
 */
const TICK_MS = 50
/** After so long without a sign of life one is asked for: where many ask for pages, that is never. */
const ASK_TICKS = 4
/** A request that came just before the silence began is still answered within 1 s. */
const SILENT_TICKS_MAX = 18

/**
 * Knows whether the database that takes writes is there, also where connections to it stay open and nothing comes through them any more: the driver
 * notices that only when they time out. Every answer is a sign of life. Ticks are counted only while a request waits
 * for the database, or while there is a doubt: an idle process does nothing.
 * @param {{found: () => void, lost: () => void}} on
 */
export function createAvailability ({ found, lost }) {
  let present = false
  /** Whether the driver has seen the servers change since the last sign of life. */
  let doubted = false
  let primary = ''
  let silentTicks = 0
  /** @type {Asking} */
  let ask = { beside: async () => {}, through: async () => {} }
  let asking = false
  let stopped = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** What waits for the database. @type {import('../process/in-flight.js').InFlight<{refuse: (error: Error) => void}>} */
  const waiting = createInFlight()

  function heard () {
    silentTicks = 0
    doubted = false
    if (present) return
    present = true
    found()
  }

  function count () {
    if (timer !== undefined || stopped) return
    silentTicks = 0
    timer = setInterval(tick, TICK_MS).unref()
  }

  function rest () {
    clearInterval(timer)
    timer = undefined
  }

  function askForSign () {
    asking = true
    const seeking = !present
    const answer = seeking ? ask.through() : ask.beside()
    answer.then(() => { if (present || seeking) heard() }, () => {}).finally(() => { asking = false })
  }

  function tick () {
    if (present && !doubted && waiting.size === 0) return rest()
    silentTicks += 1
    if (silentTicks % ASK_TICKS === 0 && !asking) askForSign()
    if (!present || silentTicks < SILENT_TICKS_MAX) return
    present = false
    lost()
    const error = absent()
    for (const wait of waiting.all()) wait.refuse(error)
  }

  return {
    /**
     * From the first connection on.
     * @param {import('mongodb').MongoClient} client
     * @param {Asking} howToAsk
     */
    watch (client, howToAsk) {
      // https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md#streaming-protocol
      client.on('serverHeartbeatSucceeded', ({ connectionId, reply }) => {
        if (!reply.isWritablePrimary && !reply.ismaster) return
        primary = connectionId
        heard()
      })
      // One that failed comes back to the pool as well, so that alone does not find a lost database.
      client.on('connectionCheckedIn', ({ address }) => {
        if (present && (primary === '' || address === primary)) heard()
      })
      client.on('topologyDescriptionChanged', () => {
        doubted = true
        count()
      })
      ask = howToAsk
      heard()
    },
    stop () {
      stopped = true
      rest()
    },
    isAvailable: () => present,

    /**
     * The same function, but it throws at once while the database is away, and does not wait any longer once it is.
     * What it had begun goes on by itself; a transaction is given up before it is committed (transaction.js), unless its commit was on its way.
     * @template {any[]} Args
     * @template T
     * @template This
     * @param {(this: This, ...args: Args) => T | Promise<T>} work
     * @returns {(this: This, ...args: Args) => T | Promise<T>}
     * @throws {Error} for which `isUnavailable` is true
     */
    whileAvailable (work) {
      return function (...args) {
        if (!present) throw absent()
        const begun = work.apply(this, args)
        return begun instanceof Promise ? orRefused(begun) : begun
      }
    }
  }

  /**
   * @template T
   * @param {Promise<T>} begun
   * @returns {Promise<T>}
   */
  function orRefused (begun) {
    return new Promise((resolve, reject) => {
      const wait = { refuse: (/** @type {Error} */ error) => { waiting.remove(wait); reject(error) } }
      waiting.add(wait)
      count()
      begun.then((result) => {
        waiting.remove(wait)
        resolve(result)
      }, wait.refuse)
    })
  }
}

/**
 * How a sign of life is asked for.
 * @typedef {object} Asking
 * @property {() => Promise<unknown>} beside  on its own connection: the client's may all be busy with a slow database
 * @property {() => Promise<unknown>} through  through the client: its connections must work before a database is found
 */

const absent = () => new mongo.MongoNetworkTimeoutError('the database does not answer')
