import mongoose from 'mongoose'
import { createInFlight } from '../process/in-flight.js'

/** @import {InFlight} from '../process/in-flight.js' */

const { mongo } = mongoose

/**
 * Ticks, not time: input is read between two, so a busy process does not mistake its own silence for the database's.
 */
const TICK_MS = 50
/** After these the database is asked for a sign of life. */
const ASK_TICKS = 4
/** A request just before the silence is still answered within 1 s. */
const SILENT_TICKS_MAX = 18

/**
 * The driver notices connections that carry nothing only when they time out. Ticks need a waiting request or a doubt,
 * so an idle process does nothing.
 * @param {{found: () => void, lost: () => void}} on
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createAvailability ({ found, lost }) {
  let available = false
  let since = new Date()
  let watched = false
  /** Servers have changed since the last sign of life. */
  let doubted = false
  let primary = ''
  let silentTicks = 0
  /** @type {Asking} */
  let ask = { beside: async () => {}, through: async () => {} }
  let asking = false
  let stopped = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {InFlight<{refuse: (error: Error) => void}>} */
  const waiting = createInFlight()

  function onSignOfLife () {
    silentTicks = 0
    doubted = false
    if (available) return
    available = true
    since = new Date()
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
    since = new Date()
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
      // Failed connections return, too: this does not prove that a lost database is back.
      client.on('connectionCheckedIn', ({ address }) => {
        if (available && (primary === '' || address === primary)) onSignOfLife()
      })
      client.on('topologyDescriptionChanged', () => {
        doubted = true
        startTicking()
      })
      ask = waysToAsk
      watched = true
      onSignOfLife()
    },
    stop () {
      stopped = true
      stopTicking()
    },
    isAvailable: () => available,

    /** As it is known now. Each call looks for a sign of life, so the next one knows of a database that is silent. */
    state () {
      if (watched) {
        doubted = true
        startTicking()
      }
      return { available, since }
    },

    /**
     * Throws at once while the database is away, and rejects once it is lost. A commit that is sent may still succeed.
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
 * `beside`: on a connection of its own, as the pool may be busy; `through`: on the pool, which has to work again.
 * @typedef {{beside: () => Promise<unknown>, through: () => Promise<unknown>}} Asking
 */

const unavailableError = () => new mongo.MongoNetworkTimeoutError('the database does not answer')
