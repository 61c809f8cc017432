import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS_MAX = 20
const PAUSE_MS = 5
/** WriteConflict and DuplicateKey: another writer was first, so the same again sees what that one wrote. */
const LOST_RACE = new Set([112, 11_000])

/**
 * Runs database work that happens as a whole or not at all, durable when this returns.
 * The driver's own `withTransaction` also waits up to two minutes for a server that is away; here that is the caller's error at once.
 * https://www.mongodb.com/docs/manual/core/transactions/
 * @template T
 * @param {import('mongoose').Connection} connection  to a replica set: a lone server has no transactions
 * @param {(session: import('mongoose').ClientSession) => Promise<T>} work  may run several times
 * @returns {Promise<T>}
 * @throws {Error} what `work` throws, or the driver's error after 20 lost races
 */
export async function inTransaction (connection, work) {
  for (let attempt = 1; ; attempt++) {
    const session = await connection.startSession()
    try {
      session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority', journal: true } })
      const result = await work(session)
      await session.commitTransaction()
      return result
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => {})
      if (!LOST_RACE.has(Number(/** @type {{code?: number}} */ (error).code)) || attempt === ATTEMPTS_MAX) throw error
    } finally {
      await session.endSession()
    }
    await sleep(Math.random() * PAUSE_MS * attempt)
  }
}
