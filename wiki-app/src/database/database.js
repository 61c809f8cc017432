import { setTimeout as sleep } from 'node:timers/promises'
import mongoose from 'mongoose'
import { createAvailability } from './availability.js'
import { createIndexes } from './indexes.js'
import { createNodeWatch } from '../status/nodes.js'

/** @import {Db} from 'mongodb' */
/** @import {Connection} from 'mongoose' */

const { mongo } = mongoose

/** `$` keys in a filter are values, unless wrapped in `trusted`. */
mongoose.set('sanitizeFilter', true)

/** https://www.mongodb.com/docs/drivers/node/current/connect/connection-options/ */
const OPTIONS = {
  // At a start; availability.js refuses requests sooner.
  serverSelectionTimeoutMS: 5_000,
  // Servers report changes at once; this bounds the life of silent connections.
  heartbeatFrequencyMS: 5_000,
  // A busy event loop must not delay a heartbeat for so long: connections close then.
  connectTimeoutMS: 5_000,
  // Longer than any response under load: only a hung server is given up.
  socketTimeoutMS: 30_000,
  writeConcern: { w: /** @type {const} */ ('majority'), journal: true, wtimeoutMS: 5_000 },
  promoteBuffers: true
}
/** https://mongoosejs.com/docs/guide.html#options */
const MONGOOSE_OPTIONS = { bufferCommands: false, autoIndex: false, autoCreate: false }
/** The driver also checks each connection that it uses. */
const POOL_CHECK_MS = 60_000
const MONITOR_HEARTBEAT_MS = 10_000
const RETRY_AFTER_MS = 500
const PING_TIMEOUT_MS = 1_000

const UNREACHABLE = [
  mongo.MongoNetworkError,
  mongo.MongoSystemError,
  mongo.MongoNotConnectedError,
  mongo.MongoTopologyClosedError,
  mongo.MongoClientClosedError,
  mongo.MongoServerClosedError,
  mongo.MongoOperationTimeoutError,
  mongoose.Error.MongooseServerSelectionError
]
const CLOSED_CODES = new Set(['EPIPE', 'ECONNRESET'])
const CLOSED_NAMES = new Set(['MongoPoolClosedError'])
/**
 * MaxTimeMSExpired, WriteConcernFailed, a server that stops or is no longer primary.
 * https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
 */
const TEMPORARY_CODES = new Set([50, 64, 91, 189, 10_107, 11_600, 11_602, 13_435, 13_436])
const OUT_OF_DISK_SPACE = 14_031
const UNKNOWN_ERROR = 8
/**
 * So the server passes on what its storage engine reports: a full disk, and a panic, which ends it in a moment.
 * https://github.com/mongodb/mongo/blob/master/src/mongo/db/storage/wiredtiger/wiredtiger_util.cpp
 */
const STORAGE_FAILURE = /No space left on device|WT_PANIC/

/**
 * In bulk writes the driver also wraps errors that no server has reported.
 * @param {unknown} error @returns {unknown} the error itself
 */
export const causeOf = (error) =>
  error instanceof mongo.MongoBulkWriteError && error.errorResponse instanceof Error ? error.errorResponse : error

/** @type {WeakMap<Connection, number>} */
const losses = new WeakMap()

/** Each loss refuses all waiting calls: no client gets earlier results. @param {Connection} connection */
export const lossesOf = (connection) => losses.get(connection) ?? 0

/** @param {string} uri @param {import('mongodb').MongoClientOptions} options */
function createClient (uri, options) {
  const client = new mongo.MongoClient(uri, options)
  // Not an option. The default, ten checks a second, takes 0.2 % of a core (test/idle.test.js).
  Object.assign(client.options, { minPoolSizeCheckFrequencyMS: POOL_CHECK_MS })
  return client
}

/** @param {import('mongodb').MongoClient} client */
async function refuseLoneServer (client) {
  const { setName, msg } = await client.db().command({ hello: 1 })
  // A sharded cluster's router: https://www.mongodb.com/docs/manual/reference/command/hello/
  if (setName !== undefined || msg === 'isdbgrid') return
  throw new Error(
    'it is a lone server, and edits need the transactions of a replica set; ' +
    'start it with --replSet and call rs.initiate() once'
  )
}

/**
 * `options` are none of the driver's documented ones.
 * @typedef {(client: import('mongodb').MongoClient) => void} WatchClient
 * @typedef {{options: object, watch: WatchClient}} Commands  `watch`: gets each client, to follow its commands
 */

/**
 * @param {Connection} connection @param {string} uri
 * @param {{poolMax: number, readConcern?: 'majority', watch: WatchClient, commands?: Commands}} options
 */
async function open (connection, uri, { poolMax, readConcern, watch, commands }) {
  if (connection.db !== undefined) return
  const reading = readConcern && { readConcern: { level: readConcern } }
  const client = createClient(uri, { ...OPTIONS, maxPoolSize: poolMax, ...reading })
  Object.assign(client.options, commands?.options)
  watch(client)
  commands?.watch(client)
  try {
    await client.connect()
    await refuseLoneServer(client)
    connection.setClient(client)
  } catch (error) {
    await client.close()
    throw error
  }
}

const ping = (/** @type {Db} */ db) => db.command({ ping: 1 }, { timeoutMS: PING_TIMEOUT_MS })

/**
 * @param {string} uri @param {import('fastify').FastifyBaseLogger} log
 * @param {{poolMax?: number, readConcern?: 'majority', commands?: Commands}} [options]  `poolMax`: connections to each
 *   server; `readConcern`: 'majority' reads nothing that a failover may still roll back; default: 'local'
 */
export function createDatabase (uri, log, { poolMax = 100, readConcern, commands } = {}) {
  const connection = mongoose.createConnection()
  for (const [name, value] of Object.entries(MONGOOSE_OPTIONS)) connection.set(name, value)
  const monitor = createClient(uri, { ...OPTIONS, maxPoolSize: 1, heartbeatFrequencyMS: MONITOR_HEARTBEAT_MS })
  const nodes = createNodeWatch()
  const closing = new AbortController()
  let retrying = Promise.resolve()
  let outageLogged = false
  /** @type {(db: Db) => Promise<void>} */
  let prepare = async () => {}

  const availability = createAvailability({
    lost: () => {
      losses.set(connection, lossesOf(connection) + 1)
      if (!closing.signal.aborted) log.warn('database lost')
    },
    found: () => { if (outageLogged) log.warn('database found'); outageLogged = true }
  })

  const own = () => /** @type {Db} */ (connection.db)

  async function attempt () {
    try {
      await open(connection, uri, { poolMax, readConcern, watch: nodes.watch, commands })
      // Connecting takes longer than later pings.
      await monitor.db().command({ ping: 1 })
      await createIndexes(Object.values(connection.models).filter(({ schema }) => schema.get('autoIndex') !== false))
      await prepare(own())
      availability.watch(connection.getClient(), { beside: () => ping(monitor.db()), through: () => ping(own()) })
      return true
    } catch (error) {
      if (!outageLogged) log.warn(`database not usable, still trying: ${/** @type {Error} */ (error).message}`)
      outageLogged = true
      return false
    }
  }

  // mongoose gives up when the first connection fails.
  async function retry () {
    do {
      await sleep(RETRY_AFTER_MS, undefined, { signal: closing.signal }).catch(() => {})
    } while (!closing.signal.aborted && !await attempt())
  }

  return {
    connection,
    /** @param {typeof prepare} [first]  runs before any request is answered, again at each attempt */
    async connect (first = prepare) {
      prepare = first
      if (!await attempt()) retrying = retry()
    },
    async close () {
      closing.abort()
      await retrying
      availability.stop()
      await Promise.all([connection.destroy(), monitor.close()])
    },
    /** @throws when the database does not answer within a second */
    async ping () {
      if (connection.db === undefined) throw new mongo.MongoNotConnectedError('not connected yet')
      await ping(connection.db)
    },
    isAvailable: availability.isAvailable,
    state: () => ({ ...availability.state(), ...nodes.state() }),
    whileAvailable: availability.whileAvailable,
    isUnavailable: (/** @type {unknown} */ error) => isUnavailable(connection, error)
  }
}

/** @typedef {ReturnType<typeof createDatabase>} Database */

/** @param {Connection} connection @param {unknown} thrown */
function isUnavailable (connection, thrown) {
  const error = causeOf(thrown)
  if (error instanceof mongo.MongoServerError) {
    return TEMPORARY_CODES.has(Number(error.code)) || error.hasErrorLabel('TransientTransactionError') ||
      isOfStorage(error)
  }
  // mongoose then throws a plain MongooseError.
  const neverConnected = connection.db === undefined && error instanceof mongoose.MongooseError
  const { code, name } = /** @type {{code?: string, name?: string}} */ (error ?? {})
  return neverConnected || CLOSED_CODES.has(String(code)) || CLOSED_NAMES.has(String(name)) ||
    UNREACHABLE.some((unreachable) => error instanceof unreachable)
}

/** @param {import('mongodb').MongoServerError} error */
const isOfStorage = ({ code, message }) =>
  code === OUT_OF_DISK_SPACE || (code === UNKNOWN_ERROR && STORAGE_FAILURE.test(message))
