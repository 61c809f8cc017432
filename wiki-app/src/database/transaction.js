import { setTimeout as sleep } from 'node:timers/promises'
import createError from '@fastify/error'
import mongoose from 'mongoose'
import { causeOf, lossesOf } from './database.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { retryAfter } from '../http/retry-after.js'

const { MongoNetworkTimeoutError, MongoServerError } = mongoose.mongo

/** A proxy waits 30 s for a response. */
const DEADLINE_MS = 20_000
const PAUSE_MAX_MS = 20
/** How long one retry may block the next: enough for many attempts, even slow ones. */
const AGAIN_MAX_MS = 3_000
const DUPLICATE_KEY = 11_000
/**
 * The server aborts a transaction beyond its time limit (60 s by default), and does not always label that as transient.
 */
const TOOK_TOO_LONG = 290
const AGAIN_CODES = new Set([DUPLICATE_KEY, TOOK_TOO_LONG])

const LostRace = createError(
  'WIKI_LOST_RACE',
  'Others kept changing the same pages, tags or links, and this change was not made. Try again in a moment.',
  503
)

/**
 * Retries after a write conflict are serialised per process: in parallel they would keep aborting each other's work,
 * and success would be chance. So retries compete at most with one of each other process.
 */
const againInTurn = createKeyedMutex({ maxMs: AGAIN_MAX_MS })

/**
 * Returns a function that tells whether the client still waits. Call this when the request arrives: losing the database
 * refuses all waiting requests at once.
 * @param {import('mongoose').Connection} connection
 * @returns {() => boolean}
 */
export function stillWanted (connection) {
  const losses = lossesOf(connection)
  return () => lossesOf(connection) === losses
}

/**
 * Runs database work as a whole or not at all; it is durable when this returns. The driver's own `withTransaction`
 * waits up to two minutes for a server that is away; this throws at once.
 * https://www.mongodb.com/docs/manual/core/transactions/
 * @template T
 * @param {import('mongoose').Connection} connection  to a replica set: a lone server has no transactions
 * @param {(session: import('mongoose').ClientSession) => Promise<T>} work  may run several times
 * @param {() => boolean} [wanted]  false: the client has been told that nothing was done, so nothing is committed
 * @returns {Promise<T>}
 * @throws {Error} what `work` throws; the driver's error, also if the database was away meanwhile; 503 after 20 s of
 *   write conflicts
 */
export async function inTransaction (connection, work, wanted = stillWanted(connection)) {
  const deadline = performance.now() + DEADLINE_MS
  const first = await attempt(connection, work, wanted)
  if (!('lost' in first)) return first.result
  return againInTurn(String(connection.id), async () => {
    for (let pauseMs = 1; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      await sleep(Math.random() * pauseMs)
      const again = await attempt(connection, work, wanted)
      if (!('lost' in again)) return again.result
    }
    throw retryAfter(new LostRace())
  })
}

/**
 * @template T
 * @param {import('mongoose').Connection} connection
 * @param {(session: import('mongoose').ClientSession) => Promise<T>} work
 * @param {() => boolean} wanted
 * @returns {Promise<{result: T} | {lost: true}>}
 */
async function attempt (connection, work, wanted) {
  const session = await connection.startSession()
  try {
    session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority', journal: true } })
    const result = await work(session)
    if (!wanted()) throw new MongoNetworkTimeoutError('the database was away meanwhile')
    await session.commitTransaction()
    await session.endSession()
    return { result }
  } catch (error) {
    const undone = undo(session)
    // The client does not wait for the abort: the database may be away.
    if (!isLostRace(causeOf(error))) throw error
    await undone
    return { lost: true }
  }
}

/** @param {import('mongoose').ClientSession} session */
async function undo (session) {
  if (session.inTransaction()) await session.abortTransaction().catch(() => {})
  await session.endSession().catch(() => {})
}

/**
 * Returns whether the server says that the same work may succeed now: another writer was first, an index was just
 * created, a lock was held, or the transaction took too long.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/#transienttransactionerror
 * @param {unknown} error
 */
function isLostRace (error) {
  return error instanceof MongoServerError &&
    (error.hasErrorLabel('TransientTransactionError') || AGAIN_CODES.has(Number(error.code)))
}
