import mongoose from 'mongoose'
import { createUnderWay } from './under-way.js'

const { mongo } = mongoose

/**
 * Ticks are counted instead of time: between two of them the event loop has read whatever had come, so a process that was busy for a second
 * does not take its own silence for the database's.
 */
const TICK_MS = 50
/** After so long without a sign of life one is asked for: where many ask for pages, that is never. */
const ASK_TICKS = 4
/** Whoever asked just before the silence began is still answered within 1 s. */
const SILENT_TICKS_MAX = 18

/**
 * Knows whether the database that takes writes is there, also where connections to it stay open and nothing comes through them any more: the driver
 * notices that only when they time out. Every answer is a sign of life, and so are the server's heartbeats: one that is slow with everything is not taken for absent.
 * @param {{found: () => void, lost: () => void}} on
 */
export function createPresence ({ found, lost }) {
  let present = false
  let primary = ''
  let silentTicks = 0
  let ask = async () => {}
  let asking = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** What waits for the database. @type {import('./under-way.js').UnderWay<{refuse: (error: Error) => void}>} */
  const waiting = createUnderWay()

  function heard () {
    silentTicks = 0
    if (present) return
    present = true
    found()
  }

  function tick () {
    silentTicks += 1
    if (present && silentTicks >= ASK_TICKS && !asking) {
      asking = true
      // Its answer is heard as any other.
      ask().catch(() => {}).finally(() => { asking = false })
    }
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
     */
    watch (client) {
      // https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md#streaming-protocol
      client.on('serverHeartbeatSucceeded', ({ connectionId, reply }) => {
        if (!reply.isWritablePrimary && !reply.ismaster) return
        primary = connectionId
        heard()
      })
      client.on('connectionCheckedIn', ({ address }) => { if (primary === '' || address === primary) heard() })
      ask = async () => { await client.db().command({ ping: 1 }) }
      heard()
      timer ??= setInterval(tick, TICK_MS).unref()
    },
    stop: () => clearInterval(timer),
    isPresent: () => present,

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
    whilePresent (work) {
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
      begun.then((result) => {
        waiting.remove(wait)
        resolve(result)
      }, wait.refuse)
    })
  }
}

const absent = () => new mongo.MongoNetworkTimeoutError('the database does not answer')
