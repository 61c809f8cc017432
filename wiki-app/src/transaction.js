import { setTimeout as sleep } from 'node:timers/promises'
import mongoose from 'mongoose'
import { causeOf } from './database.js'

const { MongoServerError } = mongoose.mongo

const DEADLINE_MS = 10_000
const PAUSE_MAX_MS = 100
const DUPLICATE_KEY = 11_000

/**
 * Runs database work that happens as a whole or not at all, durable when this returns.
 * The driver's own `withTransaction` also waits up to two minutes for a server that is away; here that is the caller's error at once.
 * https://www.mongodb.com/docs/manual/core/transactions/
 * @template T
 * @param {import('mongoose').Connection} connection  to a replica set: a lone server has no transactions
 * @param {(session: import('mongoose').ClientSession) => Promise<T>} work  may run several times
 * @returns {Promise<T>}
 * @throws {Error} what `work` throws, or the driver's error when the race was lost for 10 s
 */
export async function inTransaction (connection, work) {
  const deadline = performance.now() + DEADLINE_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    const session = await connection.startSession()
    try {
      session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority', journal: true } })
      const result = await work(session)
      await session.commitTransaction()
      await session.endSession()
      return result
    } catch (error) {
      const undone = undo(session)
      // Whoever is told no need not wait until the database has heard of it, which may be away.
      if (!isLostRace(causeOf(error)) || performance.now() > deadline) throw error
      await undone
    }
    await sleep(Math.random() * pauseMs)
  }
}

/** @param {import('mongoose').ClientSession} session */
async function undo (session) {
  if (session.inTransaction()) await session.abortTransaction().catch(() => {})
  await session.endSession().catch(() => {})
}

/**
 * Whether the server says that the same may succeed now: another writer was first, an index was just made, a lock was held.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/#transienttransactionerror
 * @param {unknown} error
 */
function isLostRace (error) {
  return error instanceof MongoServerError && (error.hasErrorLabel('TransientTransactionError') || error.code === DUPLICATE_KEY)
}
