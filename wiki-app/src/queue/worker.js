import { inTransaction } from '../database/transaction.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Entries, Entry} from './entries.js' */

/**
 * A long work comes in steps, so that a process that dies loses one step, and another goes on after `done_up_to`.
 * @typedef {object} Work
 * @property {(entry: Entry) => Promise<string | null>} step  may run twice; how far it has come, null: to the end
 * @property {(entry: Entry, session: ClientSession) => Promise<void>} finish  in the transaction that ends the entry
 * @property {() => void} finished  after it
 */

/**
 * Works on an entry that this process has claimed, to its end or until it is closed.
 * @param {object} parts
 * @param {Connection} parts.connection
 * @param {Entries} parts.entries
 * @param {Record<string, Work>} parts.works  by kind
 * @param {(error: unknown) => boolean} parts.isUnavailable  the database is away: no failure of the entry
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} parts.log
 * @param {{retryMs: number, retryMaxMs: number, failuresMax: number}} parts.timing
 * @param {AbortSignal} parts.signal
 */
export function createWorker ({ connection, entries, works, isUnavailable, log, timing, signal }) {
  const { retryMs, retryMaxMs, failuresMax } = timing

  /** @param {Entry} claimed @param {(entry: Entry) => void} onStep @returns {Promise<void>} */
  async function toTheEnd (claimed, onStep) {
    const work = works[claimed.kind]
    for (let entry = claimed; !signal.aborted;) {
      const doneUpTo = await work.step(entry)
      if (doneUpTo === null) {
        await inTransaction(connection, async (session) => {
          if (await entries.finish(entry, session)) await work.finish(entry, session)
        })
        return work.finished()
      }
      if (!await entries.keep(entry, doneUpTo)) return
      entry = { ...entry, done_up_to: doneUpTo, failures: 0 }
      onStep(entry)
    }
    await entries.release(claimed)
  }

  /** @param {Entry} entry @param {Error} error @returns {Promise<number>} milliseconds until it is due again */
  async function onFailure (entry, { message }) {
    const failures = entry.failures + 1
    const setAside = failures >= failuresMax
    const ms = Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    await entries.fail(entry, { ms, failures, problem: message, setAside })
    const said = { entry: String(entry._id), kind: entry.kind, name: entry.name, failures }
    if (setAside) log.error(said, `what an edit left to do is given up, see docs/operations.md: ${message}`)
    else if (failures === 1) log.warn(said, `what an edit left to do has failed, and is tried again: ${message}`)
    return ms
  }

  /**
   * @param {Entry} claimed  of a kind in `works` @param {() => void} onStep
   * @returns {Promise<number>} milliseconds until it is due again; 0: it is done
   * @throws {Error} when the database is away: this process may claim it again
   */
  return async function workOn (claimed, onStep) {
    let entry = claimed
    try {
      await toTheEnd(claimed, (next) => {
        entry = next
        onStep()
      })
      return 0
    } catch (error) {
      if (isUnavailable(error)) throw error
      return onFailure(entry, /** @type {Error} */ (error))
    }
  }
}
