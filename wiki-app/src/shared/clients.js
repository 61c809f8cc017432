import { createClient, createSentinel } from '@redis/client'

/** @import {RedisAddress} from './address.js' */

const CONNECT_MAX_MS = 2_000

/**
 * What a caller may use of either client.
 * @typedef {'eval' | 'get' | 'del' | 'hGet' | 'info' | 'ping' | 'xLen' | 'zRem'} Used
 * @typedef {Pick<import('@redis/client').RedisClientType, Used>} Commands
 * @typedef {{commands: Commands, open: () => Promise<unknown>, destroy: () => void}} Client
 */

/**
 * A client that never reconnects by itself: connection.js decides when.
 * @param {RedisAddress} address
 * @param {(error?: Error) => void} onEnd  the connection has ended; may be called several times. Of a client with
 *   sentinels only a command says so
 * @param {object} options
 * @param {boolean} options.replicas  true, with sentinels: reads are from a replica, and fail without one
 * @param {(address: string) => void} [options.onMaster]  host:port of each master that the sentinels name
 * @returns {Client}
 */
export function createRedisClient (address, onEnd, { replicas, onMaster = () => {} }) {
  const { username, password, database, tls, name, nodes } = address
  /** @type {any} */
  const socket = { reconnectStrategy: false, connectTimeout: CONNECT_MAX_MS, ...tls && { tls: true } }
  const login = { username, password, database, disableOfflineQueue: true }
  if (name === null) {
    const client = createClient({ ...login, socket: { ...socket, ...nodes[0] } })
    client.on('error', onEnd).on('end', () => onEnd())
    return {
      commands: /** @type {Commands} */ (/** @type {unknown} */ (client)),
      open: () => client.connect(),
      destroy: () => { if (client.isOpen) client.destroy() }
    }
  }
  const client = createSentinel({
    name,
    sentinelRootNodes: nodes,
    nodeClientOptions: { ...login, socket },
    sentinelClientOptions: { socket },
    replicaPoolSize: replicas ? 1 : 0,
    // The first failure is the caller's; the default tries for 16 s.
    maxCommandRediscovers: 0
  })
  // One of several sentinels that is dead is an error here, too, and the client asks the next one.
  client.on('error', () => {}).on('client-error', () => {})
  client.on('topology-change', ({ type, node }) => {
    if (type === 'MASTER_CHANGE') onMaster(`${node.host}:${node.port}`)
  })
  return {
    commands: /** @type {Commands} */ (/** @type {unknown} */ (client)),
    open: () => client.connect(),
    destroy: () => { client.destroy().catch(() => {}) }
  }
}
