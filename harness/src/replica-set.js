import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { MongoClient } from 'mongodb'
import { REPLICA_SET, startNode } from './mongod.js'
import { freePorts, releasePorts } from './ports.js'
import { logTail, stopProcess, waitUntil } from './processes.js'

const READY_TIMEOUT_MS = 120_000
/**
 * A node that has heard nothing from the primary for this long calls an election; MongoDB's default is 10 s. The price:
 * a primary that is held up for two seconds loses its place, and its unacknowledged edits.
 * https://www.mongodb.com/docs/manual/reference/replica-configuration/
 */
const ELECTION_TIMEOUT_MS = 2_000
const HEARTBEAT_MS = 500

/** @typedef {import('./processes.js').ProcessIdentity} ProcessIdentity */
/** @typedef {Awaited<ReturnType<typeof startNode>>['process']} Node */

/**
 * @param {number} index  0…
 * @returns {string} of the process: `mongod`, `mongod 2`, `mongod 3`
 */
export const nodeName = (index) => index === 0 ? 'mongod' : `mongod ${index + 1}`

/**
 * Starts a replica set of several real mongods on this machine. Each node has its own folder: `mongod`, `mongod-2` …
 * @param {object} options
 * @param {number[]} [options.ports]  one for each node; default: three free ones
 * @param {string} [options.directory]  default: a temporary one that `stop` removes
 * @param {boolean} [options.outlive]  see startProcess
 * @param {string[]} [options.cgroups]  see startProcess
 * @param {number} [options.cacheGib]  of each node's WiredTiger cache
 * @param {NodeJS.ProcessEnv} [options.env]  see startProcess
 * @param {(identity: ProcessIdentity) => void} [options.onStart]  called for each node as soon as it is started
 * @returns {Promise<{uri: string, ports: number[], processes: Node[],
 *   start: (index: number) => Promise<void>, primary: () => Promise<number>, stop: () => Promise<void>}>} `start`
 *   starts a node again that has ended; `primary` is the index of the present one, -1: none
 * @throws {Error} when no primary is elected in time, with the end of the first node's log
 */
export async function startReplicaSet (
  { ports, directory, outlive = false, cgroups, env, cacheGib = 0.25, onStart = () => {} } = {}
) {
  const listen = ports ?? await freePorts(3)
  const home = directory ?? mkdtempSync(path.join(tmpdir(), 'stevec-replica-set-'))
  /** @type {Node[]} */
  const processes = []
  /** @param {number} index */
  async function start (index) {
    const name = nodeName(index)
    const folder = path.join(home, name.replaceAll(' ', '-'))
    const node = await startNode({ name, port: listen[index], home: folder, outlive, cgroups, env, cacheGib })
    processes[index] = node.process
    onStart(node.process)
  }
  const stop = async () => {
    await Promise.all(processes.map((mongod) => stopProcess(mongod)))
    if (ports === undefined) await releasePorts(listen)
    if (directory === undefined) rmSync(home, { recursive: true, force: true })
  }
  try {
    for (const index of listen.keys()) await start(index)
    await initiate(listen)
  } catch (error) {
    const tail = logTail(path.join(home, 'mongod/mongod.log'))
    await stop()
    throw new Error(`the replica set did not become ready: ${/** @type {Error} */ (error).message}\n${tail}`)
  }
  return { uri: replicaSetUri(listen), ports: listen, processes, start, primary: () => findPrimary(listen), stop }
}

/**
 * @param {number[]} ports  of its nodes
 * @param {string} [database]
 */
export const replicaSetUri = (ports, database = 'stevec') =>
  `mongodb://${ports.map((port) => `127.0.0.1:${port}`).join()}/${database}?replicaSet=${REPLICA_SET}`

/**
 * @template T
 * @param {number} port
 * @param {(admin: import('mongodb').Db) => Promise<T>} act
 */
async function withNode (port, act) {
  const client = new MongoClient(
    `mongodb://127.0.0.1:${port}/?directConnection=true`,
    { serverSelectionTimeoutMS: 5_000, connectTimeoutMS: 5_000, socketTimeoutMS: 10_000 }
  )
  try {
    return await act(client.db('admin'))
  } finally {
    await client.close()
  }
}

/** @param {number[]} ports */
async function initiate (ports) {
  const answers = (/** @type {number} */ port) =>
    withNode(port, (admin) => admin.command({ ping: 1 })).then(() => true, () => false)
  const listening = (/** @type {number} */ port) => waitUntil(() => answers(port), READY_TIMEOUT_MS)
  if (!(await Promise.all(ports.map(listening))).every(Boolean)) throw new Error('a node does not answer')
  const config = {
    _id: REPLICA_SET,
    members: ports.map((port, index) => ({ _id: index, host: `127.0.0.1:${port}` })),
    settings: { electionTimeoutMillis: ELECTION_TIMEOUT_MS, heartbeatIntervalMillis: HEARTBEAT_MS }
  }
  await withNode(ports[0], (admin) => admin.command({ replSetInitiate: config }))
    .catch((error) => { if (error.codeName !== 'AlreadyInitialized') throw error })
  const ready = async () => {
    const states = await Promise.all(ports.map((port) =>
      withNode(port, (admin) => admin.command({ hello: 1 })).catch(() => null)))
    return states.some((state) => state?.isWritablePrimary) &&
      states.every((state) => state?.isWritablePrimary || state?.secondary)
  }
  if (!await waitUntil(ready, READY_TIMEOUT_MS)) throw new Error('no primary with two secondaries within two minutes')
}

/**
 * @param {number[]} ports
 * @returns {Promise<number>} index of the node that takes edits; -1: none says so
 */
async function findPrimary (ports) {
  const states = await Promise.all(ports.map((port) =>
    withNode(port, (admin) => admin.command({ hello: 1 })).catch(() => null)))
  return states.findIndex((state) => state?.isWritablePrimary)
}
