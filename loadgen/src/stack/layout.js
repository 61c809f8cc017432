import { randomBytes } from 'node:crypto'
import { freePorts } from '@stevec/harness/ports'
import { makeCacheDirectory } from './cache.js'
import { doorsOf, doorsOfEdges, HOSTS } from './doors.js'
import { edgeName } from './edge-names.js'
import { sharedServers } from './shared.js'

/**
 * Ports that no client uses: those of the caches, of the origin's nginx and of the links between them. `nginxTls`:
 * where clients of the origin's nginx come by TLS; the hops before it come to `nginx`.
 * @typedef {Record<(typeof INTERNAL_PORTS)[number], number>} InternalPorts
 */
export const INTERNAL_PORTS = /** @type {const} */ ([
  'edge', 'nginx', 'nginxTls', 'local', 'edgeToOrigin', 'localToOrigin', 'edgeControl', 'localControl', 'toxiproxy',
  'cache', 'clientToCache', 'cacheToOrigin', 'cacheControl', 'purgesToEdge'
])

/**
 * Without links each hop connects straight to the next one.
 * @param {InternalPorts} internal
 * @param {import('../config.js').Ports} ports
 * @param {boolean} tls  whether the clients' port of the origin's nginx takes TLS alone
 * @returns {InternalPorts}
 */
function withoutLinks (internal, ports, tls) {
  const nginx = tls ? internal.nginx : ports.origin
  return {
    ...internal,
    edge: ports.edge,
    local: ports.local,
    nginx,
    nginxTls: ports.origin,
    edgeToOrigin: nginx,
    localToOrigin: nginx,
    cacheToOrigin: nginx,
    purgesToEdge: internal.edgeControl,
    cache: internal.clientToCache
  }
}

/**
 * The ports of an edge; clients use `publicPort`, the edge fetches from `originPort`, and purges go to `purgePort`.
 * @typedef {{name: string, publicPort: number, port: number, originPort: number, controlPort: number,
 *   purgePort: number}} EdgePorts
 */

/** An edge beyond the first. */
const PORTS_OF_EDGE = 5

/**
 * @param {number} index
 * @param {number[]} free
 * @param {number | null} originPort  where no link stands between the hops
 * @returns {EdgePorts}
 */
const edgePorts = (index, [publicPort, controlPort, port, link, purgePort], originPort) => originPort === null
  ? { name: edgeName(index), publicPort, controlPort, purgePort, port, originPort: link }
  : { name: edgeName(index), publicPort, controlPort, purgePort: controlPort, port: publicPort, originPort }

const newToken = () => randomBytes(16).toString('hex')

/** @param {number} port */
const controlAt = (port, token = newToken()) => ({ url: `http://127.0.0.1:${port}`, token })

/** Of what an edge sends to the origin. @param {string} edge */
export const fetchLink = (edge) => `${edge}-origin`

/** Of the purges that an edge gets. @param {string} edge */
export const purgeLink = (edge) => `purges-${edge}`

/**
 * @param {import('../config.js').Ports} ports
 * @param {InternalPorts} internal
 * @returns {EdgePorts}
 */
const firstEdge = (ports, internal) => ({
  name: edgeName(0),
  publicPort: ports.edge,
  port: internal.edge,
  originPort: internal.edgeToOrigin,
  controlPort: internal.edgeControl,
  purgePort: internal.purgesToEdge
})

/**
 * Plans a stack before any part of it starts.
 * @param {object} options
 * @param {import('../config.js').Ports} options.ports
 * @param {import('./cache.js').CacheName} options.cache  at the door `cached`
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {import('./origin/origin.js').OriginRecord} options.origin
 * @param {string | null} options.cachePolicy
 * @param {boolean} options.links  whether links stand between the hops
 * @param {number} options.wikis
 * @param {number} options.databaseNodes
 * @param {import('./shared.js').Shared} options.shared
 * @param {number} options.edges
 * @param {string} [options.caFile]  of doors with TLS, see Door
 * @param {number} [options.tracesPort]  see startStack
 * @returns {Promise<{state: import('./state.js').StackState, internal: InternalPorts, edges: EdgePorts[]}>}
 */
export async function planStack ({
  ports, cache, profile, origin, cachePolicy, links, wikis, databaseNodes, shared, edges: edgesCount, caFile, tracesPort
}) {
  const count = INTERNAL_PORTS.length + wikis - 1 + databaseNodes - 1 + sharedServers(shared) +
    (edgesCount - 1) * PORTS_OF_EDGE
  const free = await freePorts(count, Object.values(ports))
  const linked = /** @type {InternalPorts} */ (
    Object.fromEntries(INTERNAL_PORTS.map((name, index) => [name, free[index]])))
  const more = free.slice(INTERNAL_PORTS.length)
  const take = (/** @type {number} */ ports) => more.splice(0, ports)
  const internal = links ? linked : withoutLinks(linked, ports, caFile !== undefined)
  const edges = [firstEdge(ports, internal), ...Array.from({ length: edgesCount - 1 }, (_, index) =>
    edgePorts(index + 1, take(PORTS_OF_EDGE), links ? null : internal.edgeToOrigin))]
  // One CDN: a purge has the same token everywhere.
  const token = newToken()
  /** @type {import('./state.js').StackState} */
  const state = {
    schema_version: 1,
    started_at: new Date().toISOString(),
    ports,
    wiki_ports: [ports.wiki, ...take(wikis - 1)],
    database_ports: [ports.mongod, ...take(databaseNodes - 1)],
    shared_ports: take(sharedServers(shared)),
    traces_port: tracesPort,
    reserved_ports: free,
    doors: doorsOf(ports, caFile),
    controls: {
      ...Object.fromEntries(edges.map(({ name, purgePort }) => [name, controlAt(purgePort, token)])),
      local: controlAt(internal.localControl)
    },
    config_hashes: {},
    processes: [],
    cgroups: [],
    profile,
    limits: { controllers: {}, directories: [], missing: {} },
    cache_policy: cachePolicy,
    links_api: links ? `http://127.0.0.1:${internal.toxiproxy}` : null,
    origin
  }
  if (edgesCount > 1) Object.assign(state.doors, doorsOfEdges(state.doors, edges.map(({ publicPort }) => publicPort)))
  if (cache !== 'edge') putCache(state, cache, internal)
  return { state, internal, edges }
}

/**
 * Plans another cache at the door `cached`.
 * @param {import('./state.js').StackState} state  updated
 * @param {Exclude<import('./cache.js').CacheName, 'edge'>} name
 * @param {InternalPorts} internal
 */
function putCache (state, name, { cache: port, cacheToOrigin, clientToCache, cacheControl }) {
  const token = newToken()
  state.cache = {
    name,
    directory: makeCacheDirectory(),
    port,
    origin_port: cacheToOrigin,
    public_port: clientToCache,
    control_port: cacheControl,
    control_token: token
  }
  const url = `http://${HOSTS.cached}:${clientToCache}`
  state.doors.cached = { ...state.doors.cached, url, path: `${name} (caching) → origin → wiki` }
  if (name === 'nginx') state.controls.cache = controlAt(cacheControl, token)
}

/**
 * @param {import('./state.js').StackState} state
 * @param {InternalPorts} internal
 * @param {EdgePorts[]} edges
 * @param {string} originAddress  host:port
 * @returns {import('@stevec/harness/toxiproxy').Link[]} one for each hop
 */
export function linksOf ({ ports, cache, doors }, internal, edges, originAddress) {
  const here = (/** @type {number} */ port) => `127.0.0.1:${port}`
  const links = [
    ...edges.flatMap(({ name, publicPort, port, originPort, controlPort, purgePort }) => [
      { name: `client-${name}`, listen: publicPort, upstream: here(port) },
      { name: fetchLink(name), listen: originPort, upstream: originAddress },
      { name: purgeLink(name), listen: purgePort, upstream: here(controlPort) }
    ]),
    {
      name: 'client-origin',
      listen: ports.origin,
      upstream: doors.source.ca_file ? here(internal.nginxTls) : originAddress
    },
    { name: 'client-local', listen: ports.local, upstream: here(internal.local) },
    { name: 'local-origin', listen: internal.localToOrigin, upstream: originAddress }
  ]
  if (!cache) return links
  return [
    ...links,
    { name: 'client-cache', listen: internal.clientToCache, upstream: here(internal.cache) },
    { name: 'cache-origin', listen: internal.cacheToOrigin, upstream: originAddress }
  ]
}
