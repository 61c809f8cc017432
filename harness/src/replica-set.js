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
/**
 * A new primary fetches later edits of others for no longer; by default it waits until each member has answered or is
 * taken for dead, which costs another election timeout when the old primary hangs. The price: edits that no majority
 * has, whose authors were told nothing, are rolled back more often.
 */
const CATCH_UP_TIMEOUT_MS = 500

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
 * @param {{host: string, namespace: string}[]} [options.machines]  of each node: its address, and its network namespace
 *   (see startProcess); default: all on loopback
 * @param {(identity: ProcessIdentity) => void} [options.onStart]  called for each node as soon as it is started
 * @returns {Promise<{uri: string, ports: number[], processes: Node[], start: (index: number) => Promise<void>,
 *   primary: () => Promise<number>, isWhole: () => Promise<boolean>, stop: () => Promise<void>}>} `start` starts a node
 *   again that has ended; `primary` is the index of the present one, -1: none; `isWhole`: a primary, and all follow it
 * @throws {Error} when no primary is elected in time, with the end of the first node's log
 */
export async function startReplicaSet (
  { ports, directory, outlive = false, cgroups, env, cacheGib = 0.25, machines = [], onStart = () => {} } = {}
) {
  const listen = ports ?? await freePorts(3)
  const nodes = listen.map((port, index) => `${machines[index]?.host ?? '127.0.0.1'}:${port}`)
  const home = directory ?? mkdtempSync(path.join(tmpdir(), 'stevec-replica-set-'))
  /** @type {Node[]} */
  const processes = []
  /** @param {number} index */
  async function start (index) {
    const name = nodeName(index)
    const folder = path.join(home, name.replaceAll(' ', '-'))
    const place = { port: listen[index], home: folder, ...machines[index] }
    const node = await startNode({ name, ...place, outlive, cgroups, env, cacheGib })
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
    await initiate(nodes)
  } catch (error) {
    const tail = logTail(path.join(home, 'mongod/mongod.log'))
    await stop()
    throw new Error(`the replica set did not become ready: ${/** @type {Error} */ (error).message}\n${tail}`)
  }
  return {
    uri: uriOf(nodes),
    ports: listen,
    processes,
    start,
    primary: async () => (await states(nodes)).findIndex((state) => state?.isWritablePrimary),
    isWhole: () => isWhole(nodes),
    stop
  }
}

/**
 * @param {number[]} ports  of its nodes
 * @param {string} [database]
 */
export const replicaSetUri = (ports, database = 'stevec') =>
  uriOf(ports.map((port) => `127.0.0.1:${port}`), database)

/** @param {string[]} nodes  host:port of each */
const uriOf = (nodes, database = 'stevec') => `mongodb://${nodes.join()}/${database}?replicaSet=${REPLICA_SET}`

/**
 * @template T
 * @param {string} node  host:port
 * @param {(admin: import('mongodb').Db) => Promise<T>} act
 */
async function withNode (node, act) {
  const client = new MongoClient(
    `mongodb://${node}/?directConnection=true`,
    { serverSelectionTimeoutMS: 5_000, connectTimeoutMS: 5_000, socketTimeoutMS: 10_000 }
  )
  try {
    return await act(client.db('admin'))
  } finally {
    await client.close()
  }
}

/** @param {string[]} nodes */
async function initiate (nodes) {
  const answers = (/** @type {string} */ node) =>
    withNode(node, (admin) => admin.command({ ping: 1 })).then(() => true, () => false)
  const listening = (/** @type {string} */ node) => waitUntil(() => answers(node), READY_TIMEOUT_MS)
  if (!(await Promise.all(nodes.map(listening))).every(Boolean)) throw new Error('a node does not answer')
  const config = {
    _id: REPLICA_SET,
    members: nodes.map((host, index) => ({ _id: index, host })),
    settings: {
      electionTimeoutMillis: ELECTION_TIMEOUT_MS,
      heartbeatIntervalMillis: HEARTBEAT_MS,
      catchUpTimeoutMillis: CATCH_UP_TIMEOUT_MS
    }
  }
  await withNode(nodes[0], (admin) => admin.command({ replSetInitiate: config }))
    .catch((error) => { if (error.codeName !== 'AlreadyInitialized') throw error })
  const ready = await waitUntil(() => isWhole(nodes), READY_TIMEOUT_MS)
  if (!ready) throw new Error('no primary with two secondaries within two minutes')
}

/** @param {string[]} nodes */
async function isWhole (nodes) {
  const all = await states(nodes)
  return all.some((state) => state?.isWritablePrimary) &&
    all.every((state) => state?.isWritablePrimary || state?.secondary)
}

/**
 * @param {string[]} nodes
 * @returns {Promise<(import('mongodb').Document | null)[]>} what each says of itself; null: no answer
 */
const states = (nodes) => Promise.all(nodes.map((node) =>
  withNode(node, (admin) => admin.command({ hello: 1 })).catch(() => null)))
