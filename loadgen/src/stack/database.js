import { mkdirSync } from 'node:fs'
import { startMongod } from '@stevec/harness/mongod'
import { startReplicaSet } from '@stevec/harness/replica-set'

/** A mongod by itself, or three that copy each other's data. @typedef {'single' | 'replica-set-3'} DatabaseKind */

/** mongods of each kind. */
export const NODES = Object.freeze({ single: 1, 'replica-set-3': 3 })

/**
 * @param {import('./state.js').StackState} state
 * @param {import('./stack.js').Starting} starting
 * @param {string} directory  of the data
 * @returns {Promise<string>} its URI
 */
export async function startDatabase (state, { outlive, started, next }, directory) {
  const { database_ports: ports = [state.ports.mongod], limits } = state
  next(ports.length === 1 ? 'mongod' : `a replica set of ${ports.length} mongods`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const common = { directory, outlive, cgroups: limits.directories, onStart: started }
  const { uri } = ports.length === 1
    ? await startMongod({ port: ports[0], ...common })
    : await startReplicaSet({ ports, ...common })
  return uri
}
