import mongoose from 'mongoose'
import { createInFlight } from '../process/in-flight.js'

const { mongo } = mongoose

/**
 * Counts ticks instead of time: the event loop reads all input between two ticks, so a process that was busy for a
 * second does not mistake its own silence for the database's.
 */
const TICK_MS = 50
/** After this much silence the database is asked for a sign of life. A wiki with many requests never asks. */
const ASK_TICKS = 4
/** A request that arrives just before the silence begins is still answered within 1 s. */
const SILENT_TICKS_MAX = 18

/**
 * Detects whether the database that takes writes is available, even if its connections stay open but carry nothing: the
 * driver notices that only when they time out. Every response is a sign of life. Ticks are counted only while a request
 * waits for the database, or while there is a doubt, so an idle process does nothing.
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
  /**
   * Calls that wait for the database.
   * @type {import('../process/in-flight.js').InFlight<{refuse: (error: Error) => void}>}
   */
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
     * Starts to watch, once the client has connected.
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
      // Failed connections return to the pool as well, so a returned connection does not prove that a lost database is
      // back.
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
     * Wraps a function: it throws at once while the database is away, and rejects as soon as the database is lost. Work
     * that has started continues: a transaction is aborted before its commit (database/transaction.js), unless the
     * commit is already sent.
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
 * How to ask for a sign of life.
 * @typedef {object} Asking
 * @property {() => Promise<unknown>} beside  on its own connection: a slow database may keep all of the client's busy
 * @property {() => Promise<unknown>} through  through the client: a database counts as found only if the client's
 *   connections work
 */

const absent = () => new mongo.MongoNetworkTimeoutError('the database does not answer')
