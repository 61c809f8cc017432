/** @import {MongoClient, TopologyDescriptionChangedEvent} from 'mongodb' */

/**
 * `other`: it answers and serves no client, as while it copies the data
 * @typedef {'primary' | 'secondary' | 'arbiter' | 'router' | 'other' | 'unreachable'} Role
 *
 * @typedef {object} Node
 * @property {number} number  from 1; hosts' names stay inside
 * @property {Role} role
 * @property {Date} since  this process sees it in this role
 */

/** `ServerType` of the driver: https://www.mongodb.com/docs/manual/reference/replica-states/ */
const ROLES = /** @type {Record<string, Role>} */ ({
  RSPrimary: 'primary',
  RSSecondary: 'secondary',
  RSArbiter: 'arbiter',
  Mongos: 'router',
  Unknown: 'unreachable',
  PossiblePrimary: 'unreachable'
})
const CHANGED = 'topologyDescriptionChanged'

/** What the driver knows of each node, so that no question waits for one. */
export function createNodeWatch () {
  /** @type {Map<string, Node>} */
  const nodes = new Map()
  /** The last one, also while there is none. */
  let primary = ''
  /** @type {Date | null} */
  let failedOverAt = null

  /** @param {string} address @param {string} type */
  function note (address, type) {
    const known = nodes.get(address)
    const role = ROLES[type] ?? 'other'
    if (known?.role === role) return
    nodes.set(address, { number: known?.number ?? freeNumber(nodes), role, since: new Date() })
    if (role !== 'primary') return
    if (primary !== '' && primary !== address) failedOverAt = new Date()
    primary = address
  }

  /** @param {TopologyDescriptionChangedEvent} event */
  function onChange ({ newDescription: { servers } }) {
    // A client that closes forgets its servers; they are still there.
    if (servers.size === 0) return
    for (const address of nodes.keys()) if (!servers.has(address)) nodes.delete(address)
    for (const address of [...servers.keys()].sort()) note(address, String(servers.get(address)?.type))
  }

  return {
    /** @param {MongoClient} client  not yet connected */
    watch (client) { client.on(CHANGED, onChange) },
    /** @returns {{nodes: Node[], failedOverAt: Date | null}} failedOverAt: another node became primary then */
    state: () => ({ nodes: [...nodes.values()].sort((a, b) => a.number - b.number), failedOverAt })
  }
}

/** @param {Map<string, Node>} nodes */
function freeNumber (nodes) {
  const taken = new Set([...nodes.values()].map(({ number }) => number))
  let number = 1
  while (taken.has(number)) number++
  return number
}
