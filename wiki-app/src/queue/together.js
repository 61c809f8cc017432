import { inTransaction } from '../database/transaction.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Claims} from './claims.js' */
/** @import {Entry} from './entries.js' */

/**
 * A small work is one transaction, together with others of its kind.
 * @typedef {object} SmallWork
 * @property {(entries: Entry[], session: ClientSession) => Promise<void>} together  in the transaction that ends them
 * @property {() => void} finished  after it
 */

/** So many at a time, with contents of this weight at most, but for a single one. */
const LIMITS = { max: 200, maxWeight: 10_000 }

/** Another process has claimed one of the entries. */
class Lost extends Error {}

/**
 * @param {object} parts
 * @param {Connection} parts.connection
 * @param {Claims} parts.claims
 * @param {(error: unknown) => boolean} parts.isUnavailable  the database is away: no failure of an entry
 * @param {(entry: Entry, error: Error) => Promise<number>} parts.onFailure
 * @param {AbortSignal} parts.signal
 * @param {import('./worker.js').During} parts.during
 */
export function createTogether ({ connection, claims, isUnavailable, onFailure, signal, during }) {
  /**
   * One that cannot be done holds up no other.
   * @param {SmallWork} work @param {Entry[]} claimed @returns {Promise<number>} milliseconds until one is due again
   */
  async function doAll (work, claimed) {
    try {
      await during(claimed, () => inTransaction(connection, async (session) => {
        if (!await claims.finish(claimed, session)) throw new Lost()
        await work.together(claimed, session)
      }))
      work.finished()
      return 0
    } catch (error) {
      // Those that this process has still, it claims again.
      if (error instanceof Lost) return 0
      if (isUnavailable(error)) throw error
      if (claimed.length === 1) return onFailure(claimed[0], /** @type {Error} */ (error))
      let againMs = 0
      for (const entry of claimed) {
        if (signal.aborted) return 0
        againMs = Math.max(againMs, await doAll(work, [entry]))
      }
      return againMs
    }
  }

  /** @param {SmallWork} work @param {Entry} first  claimed @returns {Promise<number>} as `doAll` */
  return async (work, first) => doAll(work, await claims.claimMore(first, LIMITS))
}
