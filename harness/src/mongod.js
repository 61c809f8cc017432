import { mkdtempSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { MongoClient } from 'mongodb'
import { requireTool } from './tools/locate.js'
import { freePorts, releasePorts } from './ports.js'
import { logTail, startProcess, stopProcess, waitUntil } from './processes.js'

export const REPLICA_SET = 'stevec'
const READY_TIMEOUT_MS = 60_000

/**
 * Starts a real mongod as a single-node replica set: transactions, change streams and retryable writes need one.
 * @param {object} [options]
 * @param {number} [options.port]  default: a free one
 * @param {string} [options.directory]  holds data/ and mongod.log; default: a temporary one that `stop` removes
 * @param {boolean} [options.outlive]  see startProcess
 * @param {string[]} [options.cgroups]  see startProcess
 * @param {number} [options.cacheGib]  size of WiredTiger's cache; the default fits small machines, many edits per
 *   second need more
 * @param {NodeJS.ProcessEnv} [options.env]  see startProcess
 * @param {(identity: import('./processes.js').ProcessIdentity) => void} [options.onStart]  called before mongod is
 *   ready, so that the caller can record it at once and stop it later
 * @returns {Promise<{uri: string, uriFor: (database: string) => string, port: number, stop: () => Promise<void>}>}
 * @throws {Error} when it is not primary within 60 s, with the end of its log
 */
export async function startMongod (
  { port, directory, outlive = false, cgroups, env, cacheGib = 0.25, onStart = () => {} } = {}
) {
  const home = directory ?? mkdtempSync(path.join(tmpdir(), 'stevec-mongod-'))
  const listen = port ?? (await freePorts(1))[0]
  const node = await startNode({ name: 'mongod', port: listen, home, outlive, cgroups, env, cacheGib })
  const { process: mongod, logFile } = node
  onStart(mongod)
  const stop = async () => {
    await stopProcess(mongod)
    if (port === undefined) await releasePorts([listen])
    if (directory === undefined) rmSync(home, { recursive: true, force: true })
  }
  try {
    await becomePrimary(listen)
  } catch (error) {
    const tail = logTail(logFile)
    await stop()
    throw new Error(`mongod did not become ready on port ${listen}: ${/** @type {Error} */ (error).message}\n${tail}`)
  }
  const uriFor = (/** @type {string} */ database) => mongodUri(listen, database)
  return { uri: mongodUri(listen), uriFor, port: listen, stop }
}

/**
 * Starts one mongod, of a replica set that is still to be initiated.
 * @param {object} options
 * @param {string} options.name  of the process
 * @param {number} options.port
 * @param {string} options.home  holds data/ and mongod.log
 * @param {number} options.cacheGib
 * @param {boolean} [options.outlive]
 * @param {string[]} [options.cgroups]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string} [options.host]  address to listen on; default 127.0.0.1
 * @param {string} [options.namespace]  see startProcess
 */
export async function startNode ({
  name, port, home, cacheGib, outlive, cgroups, env, host = '127.0.0.1', namespace
}) {
  const logFile = path.join(home, 'mongod.log')
  mkdirSync(path.join(home, 'data'), { recursive: true })
  const process = await startProcess({
    name,
    command: requireTool('mongod').path,
    args: [
      '--dbpath', path.join(home, 'data'), '--port', String(port), '--bind_ip', host, '--nounixsocket',
      '--replSet', REPLICA_SET, '--oplogSize', '128', '--wiredTigerCacheSizeGB', String(cacheGib), '--quiet',
      '--setParameter', 'diagnosticDataCollectionEnabled=false',
      // Default 60: after a killed wiki, its open transactions would block edits of their pages for that long.
      '--setParameter', 'transactionLifetimeLimitSeconds=10',
      // Default 5: a secondary whose primary is cut off would wait so long before it copies from the new one, and edits
      // wait for that copy.
      '--setParameter', 'oplogNetworkTimeoutBufferSeconds=1',
      // Default 1: it would ask the lost primary once more, for three seconds.
      '--setParameter', 'oplogFetcherSteadyStateMaxFetcherRestarts=0',
      // Waiting for an election before the shutdown would only cost a second.
      '--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'
    ],
    logFile,
    outlive,
    cgroups,
    env,
    namespace
  })
  return { process, logFile }
}

/**
 * @param {number} port  of a mongod that startMongod started
 * @param {string} [database]
 */
export const mongodUri = (port, database = 'stevec') =>
  `mongodb://127.0.0.1:${port}/${database}?replicaSet=${REPLICA_SET}`

/**
 * Makes the node the primary of its own set, also if the data was last served on another port.
 * https://www.mongodb.com/docs/manual/reference/command/replSetInitiate/ and …/replSetReconfig/
 * @param {number} port
 */
async function becomePrimary (port) {
  const client = new MongoClient(
    `mongodb://127.0.0.1:${port}/?directConnection=true`,
    { serverSelectionTimeoutMS: READY_TIMEOUT_MS }
  )
  try {
    await client.connect()
    const admin = client.db('admin')
    const host = `127.0.0.1:${port}`
    try {
      await admin.command({ replSetInitiate: { _id: REPLICA_SET, members: [{ _id: 0, host }] } })
    } catch (error) {
      if (/** @type {import('mongodb').MongoServerError} */ (error).codeName !== 'AlreadyInitialized') throw error
      const { config } = await admin.command({ replSetGetConfig: 1 })
      if (config.members[0].host !== host) {
        config.members[0].host = host
        config.version += 1
        await admin.command({ replSetReconfig: config, force: true })
      }
    }
    const primary = await waitUntil(async () => (await admin.command({ hello: 1 })).isWritablePrimary, READY_TIMEOUT_MS)
    if (!primary) throw new Error('no primary was elected')
  } finally {
    await client.close()
  }
}
