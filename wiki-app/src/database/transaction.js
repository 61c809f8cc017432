import { setTimeout as sleep } from 'node:timers/promises'
import createError from '@fastify/error'
import mongoose from 'mongoose'
import { causeOf, lossesOf } from './database.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { retryAfter } from '../http/retry-after.js'

const { MongoNetworkTimeoutError, MongoServerError } = mongoose.mongo

/** A proxy waits 30 s for an answer. */
const DEADLINE_MS = 20_000
const PAUSE_MAX_MS = 20
/** Many tries, even where each takes long. */
const AGAIN_MAX_MS = 3_000
const DUPLICATE_KEY = 11_000
/** The server ends a transaction that takes longer than its limit (60 s as MongoDB comes), and does not always call that transient. */
const TOOK_TOO_LONG = 290
const AGAIN_CODES = new Set([DUPLICATE_KEY, TOOK_TOO_LONG])

const LostRace = createError('WIKI_LOST_RACE', 'Others kept changing the same pages, tags or links, and this change was not made. Try again in a moment.', 503)

/**
 * Whoever has lost a race tries again when nobody of this process does who lost one before: all at once they would go on undoing each other's work, and who gets
 * through would be chance. So at most as many as there are processes race for the second time.
 */
const againInTurn = createKeyedMutex({ maxMs: AGAIN_MAX_MS })

/**
 * Asked for when a request comes, it tells later whether its sender still waits: all who wait when the database is lost are told so at once.
 * @param {import('mongoose').Connection} connection
 * @returns {() => boolean}
 */
export function stillWanted (connection) {
  const losses = lossesOf(connection)
  return () => lossesOf(connection) === losses
}

/**
 * Runs database work that happens as a whole or not at all, durable when this returns.
 * The driver's own `withTransaction` also waits up to two minutes for a server that is away; here that is the caller's error at once.
 * https://www.mongodb.com/docs/manual/core/transactions/
 * @template T
 * @param {import('mongoose').Connection} connection  to a replica set: a lone server has no transactions
 * @param {(session: import('mongoose').ClientSession) => Promise<T>} work  may run several times
 * @param {() => boolean} [wanted]  false: whoever wanted it has been told that it was not done, and so it is not
 * @returns {Promise<T>}
 * @throws {Error} what `work` throws, the driver's error, also when the database was away meanwhile, or 503 when the race was lost for 20 s
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
    // Whoever is told no need not wait until the database has heard of it, which may be away.
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
 * Whether the server says that the same may succeed now: another writer was first, an index was just made, a lock was held, it took too long.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/#transienttransactionerror
 * @param {unknown} error
 */
function isLostRace (error) {
  return error instanceof MongoServerError && (error.hasErrorLabel('TransientTransactionError') || AGAIN_CODES.has(Number(error.code)))
}
