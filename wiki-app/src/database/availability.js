import mongoose from 'mongoose'
import { createInFlight } from '../process/in-flight.js'

/** @import {InFlight} from '../process/in-flight.js' */

const { mongo } = mongoose

/**
 * Ticks count instead of time: the event loop reads all input between two ticks, so a process that was busy for a
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
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createAvailability ({ found, lost }) {
  let available = false
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
  /** Calls that wait for the database. @type {InFlight<{refuse: (error: Error) => void}>} */
  const waiting = createInFlight()

  function onSignOfLife () {
    silentTicks = 0
    doubted = false
    if (available) return
    available = true
    found()
  }

  function startTicking () {
    if (timer !== undefined || stopped) return
    silentTicks = 0
    timer = setInterval(tick, TICK_MS).unref()
  }

  function stopTicking () {
    clearInterval(timer)
    timer = undefined
  }

  function askForSign () {
    asking = true
    const wasLost = !available
    const answer = wasLost ? ask.through() : ask.beside()
    answer.then(() => { if (available || wasLost) onSignOfLife() }, () => {}).finally(() => { asking = false })
  }

  function tick () {
    if (available && !doubted && waiting.size === 0) return stopTicking()
    silentTicks += 1
    if (silentTicks % ASK_TICKS === 0 && !asking) askForSign()
    if (!available || silentTicks < SILENT_TICKS_MAX) return
    available = false
    lost()
    const error = unavailableError()
    for (const wait of waiting.all()) wait.refuse(error)
  }

  return {
    /** @param {import('mongodb').MongoClient} client  connected @param {Asking} waysToAsk */
    watch (client, waysToAsk) {
      // https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md#streaming-protocol
      client.on('serverHeartbeatSucceeded', ({ connectionId, reply }) => {
        if (!reply.isWritablePrimary && !reply.ismaster) return
        primary = connectionId
        onSignOfLife()
      })
      // Failed connections return to the pool as well, so a returned connection does not prove that a lost database is
      // back.
      client.on('connectionCheckedIn', ({ address }) => {
        if (available && (primary === '' || address === primary)) onSignOfLife()
      })
      client.on('topologyDescriptionChanged', () => {
        doubted = true
        startTicking()
      })
      ask = waysToAsk
      onSignOfLife()
    },
    stop () {
      stopped = true
      stopTicking()
    },
    isAvailable: () => available,

    /**
     * Wraps a function: it throws at once while the database is away, and rejects as soon as the database is lost. Work
     * that has started continues: a transaction is aborted before its commit, unless the commit is already sent.
     * @template {any[]} Args @template T @template This
     * @param {(this: This, ...args: Args) => T | Promise<T>} work
     * @returns {(this: This, ...args: Args) => T | Promise<T>}
     * @throws {Error} for which `isUnavailable` is true
     */
    whileAvailable (work) {
      return function (...args) {
        if (!available) throw unavailableError()
        const result = work.apply(this, args)
        return result instanceof Promise ? untilLost(result) : result
      }
    }
  }

  /** @template T @param {Promise<T>} result @returns {Promise<T>} */
  function untilLost (result) {
    return new Promise((resolve, reject) => {
      const wait = { refuse: (/** @type {Error} */ error) => { waiting.remove(wait); reject(error) } }
      waiting.add(wait)
      startTicking()
      result.then((result) => {
        waiting.remove(wait)
        resolve(result)
      }, wait.refuse)
    })
  }
}

/**
 * Ways to ask for a sign of life: `beside` on its own connection, as a slow database may keep the whole pool busy;
 * `through` the client, whose connections must work again before the database counts as found.
 * @typedef {{beside: () => Promise<unknown>, through: () => Promise<unknown>}} Asking
 */

const unavailableError = () => new mongo.MongoNetworkTimeoutError('the database does not answer')
