import { setTimeout as sleep } from 'node:timers/promises'
import createError from '@fastify/error'
import mongoose from 'mongoose'
import { causeOf, lossesOf } from './database.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { retryAfter } from '../http/retry-after.js'

/** @import {ClientSession, Connection} from 'mongoose' */

const { MongoError, MongoNetworkTimeoutError, MongoServerError } = mongoose.mongo

/** A proxy waits 30 s for a response. */
const ANSWER_MAX_MS = 25_000
const CONFLICTS_MAX_MS = 20_000
const PAUSE_MAX_MS = 20
/** Enough for many attempts; the next retry waits. */
const RETRY_MAX_MS = 3_000
const DUPLICATE_KEY = 11_000
/** The server aborts it after 60 s by default, not always labelled as transient. */
const TRANSACTION_EXPIRED = 290
const TRANSIENT_CODES = new Set([DUPLICATE_KEY, TRANSACTION_EXPIRED])

const WriteConflict = createError(
  'WIKI_LOST_RACE',
  'Others are changing the same pages, tags or links just now, and your change was not made. Try again in a moment.',
  503
)

/** In parallel, retries would keep aborting each other. */
const retryExclusive = createKeyedMutex({ maxMs: RETRY_MAX_MS })

/**
 * A client that waits for its edit, until the database is lost, which refuses all waiting requests, or for 25 s.
 * @typedef {ReturnType<typeof createWait>} Wait
 */

/** Call it when the request arrives. @param {Connection} connection */
export function createWait (connection) {
  const losses = lossesOf(connection)
  const endsAtMs = performance.now() + ANSWER_MAX_MS
  const leftMs = () => endsAtMs - performance.now()
  return { isOver: () => lossesOf(connection) !== losses || leftMs() <= 0, leftMs }
}

/**
 * A database can answer pings and yet finish no write: under fsyncLock, or after its clock was set back. The driver
 * would wait a minute for it.
 * @template T @param {Wait} wait @param {() => Promise<T>} work  goes on when it is late
 * @returns {Promise<T>}
 * @throws {Error} for which `isUnavailable` is true when the wait ends first; a commit that is sent may still succeed
 */
export async function answerInTime (wait, work) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new MongoNetworkTimeoutError('the database did not finish in time')), wait.leftMs())
  })
  try {
    return await Promise.race([work(), /** @type {Promise<never>} */ (late)])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Durable on return. The driver's `withTransaction` would wait two minutes for a server that is away.
 * @template T
 * @param {Connection} connection  to a replica set: a lone server has no transactions
 * @param {(session: ClientSession) => Promise<T>} work  may run several times
 * @param {Wait} [wait]  once it is over the client has got a refusal, so nothing is committed
 * @throws {Error} what `work` throws; the driver's error; 503 after 20 s of write conflicts
 */
export async function inTransaction (connection, work, wait = createWait(connection)) {
  const deadline = performance.now() + CONFLICTS_MAX_MS
  const first = resultOf(await attempt(connection, work, wait))
  if (first !== null) return first.result
  return retryExclusive(String(connection.id), async () => {
    for (let pauseMs = 1; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      await sleep(Math.random() * pauseMs)
      const retried = resultOf(await attempt(connection, work, wait))
      if (retried !== null) return retried.result
    }
    throw retryAfter(new WriteConflict())
  })
}

/** @template T @param {Attempt<T>} attempt @returns {{result: T} | null} null: it lost a race @throws {unknown} */
function resultOf (attempt) {
  if ('result' in attempt) return attempt
  if (attempt.lost) return null
  throw attempt.error
}

/**
 * `lost`: another transaction changed the same documents, and nothing was written. `sent`: the commit was sent, so it
 * may still succeed.
 * @template T
 * @typedef {{result: T} | {error: unknown, lost: boolean, sent: boolean}} Attempt
 */

/**
 * One attempt of a transaction, for callers that decide themselves what comes after a failure.
 * @template T @param {Connection} connection
 * @param {(session: ClientSession) => Promise<T>} work @param {Pick<Wait, 'isOver'>} wait  see `inTransaction`
 * @returns {Promise<Attempt<T>>} never rejects
 */
export async function attempt (connection, work, wait) {
  /** @type {ClientSession | undefined} */
  let session
  let sent = false
  try {
    session = await connection.startSession()
    session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority', journal: true } })
    const result = await work(session)
    if (wait.isOver()) throw new MongoNetworkTimeoutError('the database was away meanwhile')
    sent = true
    await session.commitTransaction()
    await session.endSession()
    return { result }
  } catch (error) {
    const aborted = session && abort(session)
    const lost = isTransient(causeOf(error))
    // Without waiting for the abort otherwise: the database may be away.
    if (lost) await aborted
    return { error, lost, sent }
  }
}

/** @param {ClientSession} session */
async function abort (session) {
  if (session.inTransaction()) await session.abortTransaction().catch(() => {})
  await session.endSession().catch(() => {})
}

/** @param {unknown} error */
function isTransient (error) {
  return error instanceof MongoServerError &&
    (error.hasErrorLabel('TransientTransactionError') || TRANSIENT_CODES.has(Number(error.code)))
}

/**
 * Whether it is about what was written, such as a document that is too large, and says nothing about the database.
 * @param {unknown} error
 */
export function isOfDocuments (error) {
  const cause = causeOf(error)
  if (cause instanceof MongoServerError) return !cause.hasErrorLabel('RetryableWriteError')
  return !(cause instanceof MongoError || cause instanceof mongoose.Error)
}
