import { randomBytes } from 'node:crypto'
import { freePorts } from '@stevec/harness/ports'
import { makeCacheDirectory } from './cache.js'
import { doorsOf, HOSTS } from './doors.js'
import { sharedServers } from './shared.js'

/**
 * Ports that no client uses: those of the caches, of the origin's nginx and of the links between them.
 * @typedef {Record<(typeof INTERNAL_PORTS)[number], number>} InternalPorts
 */
const INTERNAL_PORTS = /** @type {const} */ ([
  'edge', 'nginx', 'local', 'edgeToOrigin', 'localToOrigin', 'edgeControl', 'localControl', 'toxiproxy',
  'cache', 'clientToCache', 'cacheToOrigin', 'cacheControl'
])

/**
 * Without links each hop connects straight to the next one.
 * @param {InternalPorts} internal
 * @param {import('../config.js').Ports} ports
 * @returns {InternalPorts}
 */
const withoutLinks = (internal, ports) => ({
  ...internal,
  edge: ports.edge,
  local: ports.local,
  nginx: ports.origin,
  edgeToOrigin: ports.origin,
  localToOrigin: ports.origin,
  cacheToOrigin: ports.origin,
  cache: internal.clientToCache
})

const newToken = () => randomBytes(16).toString('hex')

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
 * @returns {Promise<{state: import('./state.js').StackState, internal: InternalPorts}>}
 */
export async function planStack ({ ports, cache, profile, origin, cachePolicy, links, wikis, databaseNodes, shared }) {
  const count = INTERNAL_PORTS.length + wikis - 1 + databaseNodes - 1 + sharedServers(shared)
  const free = await freePorts(count, Object.values(ports))
  const linked = /** @type {InternalPorts} */ (
    Object.fromEntries(INTERNAL_PORTS.map((name, index) => [name, free[index]])))
  const more = free.slice(INTERNAL_PORTS.length)
  const internal = links ? linked : withoutLinks(linked, ports)
  const control = (/** @type {number} */ port, token = newToken()) => ({ url: `http://127.0.0.1:${port}`, token })
  /** @type {import('./state.js').StackState} */
  const state = {
    schema_version: 1,
    started_at: new Date().toISOString(),
    ports,
    wiki_ports: [ports.wiki, ...more.slice(0, wikis - 1)],
    database_ports: [ports.mongod, ...more.slice(wikis - 1, wikis + databaseNodes - 2)],
    shared_ports: more.slice(wikis + databaseNodes - 2),
    reserved_ports: free,
    doors: doorsOf(ports),
    controls: { edge: control(internal.edgeControl), local: control(internal.localControl) },
    config_hashes: {},
    processes: [],
    cgroups: [],
    profile,
    limits: { controllers: {}, directories: [], missing: {} },
    cache_policy: cachePolicy,
    links_api: links ? `http://127.0.0.1:${internal.toxiproxy}` : null,
    origin
  }
  if (cache === 'edge') return { state, internal }
  const { clientToCache } = internal
  state.cache = {
    name: cache,
    directory: makeCacheDirectory(),
    port: internal.cache,
    origin_port: internal.cacheToOrigin,
    public_port: clientToCache,
    control_port: internal.cacheControl,
    control_token: newToken()
  }
  const url = `http://${HOSTS.cached}:${clientToCache}`
  state.doors.cached = { ...state.doors.cached, url, path: `${cache} (caching) → origin → wiki` }
  if (cache === 'nginx') state.controls.cache = control(internal.cacheControl, state.cache.control_token)
  return { state, internal }
}

/**
 * @param {import('./state.js').StackState} state
 * @param {InternalPorts} internal
 * @param {string} originAddress  host:port
 * @returns {import('@stevec/harness/toxiproxy').Link[]} one for each hop
 */
export function linksOf ({ ports, cache }, internal, originAddress) {
  const here = (/** @type {number} */ port) => `127.0.0.1:${port}`
  const links = [
    { name: 'client-edge', listen: ports.edge, upstream: here(internal.edge) },
    { name: 'client-origin', listen: ports.origin, upstream: originAddress },
    { name: 'client-local', listen: ports.local, upstream: here(internal.local) },
    { name: 'local-origin', listen: internal.localToOrigin, upstream: originAddress },
    { name: 'edge-origin', listen: internal.edgeToOrigin, upstream: originAddress }
  ]
  if (!cache) return links
  return [
    ...links,
    { name: 'client-cache', listen: internal.clientToCache, upstream: here(internal.cache) },
    { name: 'cache-origin', listen: internal.cacheToOrigin, upstream: originAddress }
  ]
}
