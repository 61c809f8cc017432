import { setTimeout as sleep } from 'node:timers/promises'
import mongoose from 'mongoose'

const { mongo } = mongoose

/** Objects with `$` keys inside a filter are values, never operators, unless wrapped in `trusted`. https://mongoosejs.com/docs/api/mongoose.html#Mongoose.prototype.sanitizeFilter() */
mongoose.set('sanitizeFilter', true)

/** https://www.mongodb.com/docs/drivers/node/current/connect/connection-options/ */
const OPTIONS = {
  serverSelectionTimeoutMS: 1_500,
  connectTimeoutMS: 1_500,
  // Longer than any answer takes under load, so that only a hung server is given up.
  socketTimeoutMS: 30_000,
  maxPoolSize: 100,
  // Acknowledged means: on the disk of most members.
  writeConcern: { w: /** @type {const} */ ('majority'), journal: true, wtimeoutMS: 5_000 },
  promoteBuffers: true,
  bufferCommands: false,
  autoIndex: false,
  autoCreate: false
}
const RETRY_AFTER_MS = 500
const PING_TIMEOUT_MS = 1_000

/** What the driver throws when it finds no usable server, rather than a server that refused a command. */
const UNREACHABLE = [
  mongo.MongoNetworkError, mongo.MongoSystemError, mongo.MongoNotConnectedError, mongo.MongoTopologyClosedError,
  mongo.MongoClientClosedError, mongo.MongoOperationTimeoutError, mongoose.Error.MongooseServerSelectionError
]
/** MaxTimeMSExpired, WriteConcernFailed, and a server that is stopping or is no longer primary. https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const TEMPORARY_CODES = new Set([50, 64, 91, 189, 10_107, 11_600, 11_602, 13_435, 13_436])

/**
 * A connection that is kept or sought again for as long as the application lives.
 * @param {string} uri
 * @param {import('fastify').FastifyBaseLogger} log
 */
export function createDatabase (uri, log) {
  const connection = mongoose.createConnection()
  const closing = new AbortController()
  let seeking = Promise.resolve()
  let missed = false

  connection.on('disconnected', () => { if (connection.db && !closing.signal.aborted) log.warn('database lost') })
  connection.on('reconnected', () => log.warn('database found again'))

  async function refuseLoneServer () {
    const { setName, msg } = await /** @type {import('mongodb').Db} */ (connection.db).command({ hello: 1 })
    // A sharded cluster's router says isdbgrid. https://www.mongodb.com/docs/manual/reference/command/hello/
    if (setName !== undefined || msg === 'isdbgrid') return
    await connection.close()
    throw new Error('it is a lone server, and edits need the transactions of a replica set; start it with --replSet and call rs.initiate() once')
  }

  /** @returns {Promise<boolean>} */
  async function attempt () {
    try {
      await connection.openUri(uri, OPTIONS)
      await refuseLoneServer()
      await Promise.all(Object.values(connection.models).map((model) => model.createIndexes()))
      if (missed) log.warn('database found')
      return true
    } catch (error) {
      // Once: it is tried again every other second.
      if (!missed) log.warn(`database not usable, still trying: ${/** @type {Error} */ (error).message}`)
      missed = true
      return false
    }
  }

  // mongoose reconnects by itself, but gives up when the first connection fails.
  async function seek () {
    do {
      await sleep(RETRY_AFTER_MS, undefined, { signal: closing.signal }).catch(() => {})
    } while (!closing.signal.aborted && !await attempt())
  }

  return {
    connection,
    /** Connects once; when that fails it goes on trying in the background, and the application answers 503 meanwhile. */
    async connect () {
      if (!await attempt()) seeking = seek()
    },
    async close () {
      closing.abort()
      await seeking
      await connection.destroy()
    },
    /** @throws when the database does not answer within a second */
    async ping () {
      // Never connected yet: there is no `db` to ask.
      if (connection.db === undefined) throw new mongo.MongoNotConnectedError('not connected yet')
      await connection.db.command({ ping: 1 }, { timeoutMS: PING_TIMEOUT_MS })
    },
    /**
     * Whether it is the database's absence that made something fail.
     * @param {unknown} error
     */
    isUnavailable (error) {
      if (error instanceof mongo.MongoServerError) return TEMPORARY_CODES.has(Number(error.code)) || error.hasErrorLabel('TransientTransactionError')
      // Before the first connection mongoose throws its plainest error.
      const neverConnected = connection.db === undefined && error instanceof mongoose.MongooseError
      return neverConnected || UNREACHABLE.some((unreachable) => error instanceof unreachable)
    }
  }
}

/** @typedef {ReturnType<typeof createDatabase>} Database */
