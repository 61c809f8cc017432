import { inTransaction } from '../database/transaction.js'
import { createTogether } from './together.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Claims} from './claims.js' */
/** @import {Entry} from './entries.js' */

/**
 * A long work comes in steps, so that a process that dies loses one step, and another goes on after `done_up_to`.
 * @typedef {object} LongWork
 * @property {(entry: Entry) => Promise<string | null>} step  may run twice; how far it has come, null: to the end
 * @property {(entry: Entry, session: ClientSession) => Promise<void>} finish  in the transaction that ends the entry
 * @property {() => void} finished  after it
 */

/** @typedef {LongWork | import('./together.js').SmallWork} Work */

/**
 * Runs work on entries of one kind, and watches it.
 * @typedef {<T>(entries: Entry[], work: () => Promise<T>) => Promise<T>} During
 */

/** @param {Work} work @returns {work is LongWork} */
export const isLong = (work) => 'step' in work

/**
 * Works on an entry that this process has claimed, to its end or until it is closed.
 * @param {object} parts
 * @param {Connection} parts.connection
 * @param {Claims} parts.claims
 * @param {Record<string, Work>} parts.works  by kind
 * @param {(error: unknown) => boolean} parts.isUnavailable  the database is away: no failure of the entry
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} parts.log
 * @param {{retryMs: number, retryMaxMs: number, failuresMax: number}} parts.timing
 * @param {AbortSignal} parts.signal
 * @param {During} [parts.during]
 */
export function createWorker ({
  connection, claims, works, isUnavailable, log, timing, signal, during = (_entries, work) => work()
}) {
  const { retryMs, retryMaxMs, failuresMax } = timing
  const doTogether = createTogether({ connection, claims, isUnavailable, onFailure, signal, during })

  /** @param {LongWork} work @param {Entry} claimed @param {(entry: Entry) => void} onStep @returns {Promise<void>} */
  async function toTheEnd (work, claimed, onStep) {
    for (let entry = claimed; !signal.aborted;) {
      const doneUpTo = await work.step(entry)
      if (doneUpTo === null) {
        await inTransaction(connection, async (session) => {
          if (await claims.finish([entry], session)) await work.finish(entry, session)
        })
        return work.finished()
      }
      if (!await claims.keep(entry, doneUpTo)) return
      entry = { ...entry, done_up_to: doneUpTo, failures: 0 }
      onStep(entry)
    }
    await claims.release([claimed], 0)
  }

  /** @param {Entry} entry @param {Error} error @returns {Promise<number>} milliseconds until it is due again */
  async function onFailure (entry, { message }) {
    const failures = entry.failures + 1
    const setAside = failures >= failuresMax
    const ms = Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    await claims.fail(entry, { ms, failures, problem: message, setAside })
    const said = { entry: String(entry._id), kind: entry.kind, name: entry.name, failures }
    if (setAside) log.error(said, `what an edit left to do is given up, see docs/operations.md: ${message}`)
    else if (failures === 1) log.warn(said, `what an edit left to do has failed, and is tried again: ${message}`)
    return ms
  }

  /** @param {LongWork} work @param {Entry} claimed @param {() => void} onStep @returns {Promise<number>} as workOn */
  async function doLong (work, claimed, onStep) {
    let entry = claimed
    try {
      await during([claimed], () => toTheEnd(work, claimed, (next) => {
        entry = next
        onStep()
      }))
      return 0
    } catch (error) {
      if (isUnavailable(error)) throw error
      return onFailure(entry, /** @type {Error} */ (error))
    }
  }

  /**
   * @param {Entry} claimed  of a kind in `works` @param {() => void} onStep
   * @returns {Promise<number>} milliseconds until it is due again; 0: it is done
   * @throws {Error} when the database is away: this process may claim it again
   */
  return async function workOn (claimed, onStep) {
    const work = works[claimed.kind]
    if (isLong(work)) return doLong(work, claimed, onStep)
    return doTogether(work, claimed)
  }
}
