import path from 'node:path'
import { startProcess } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { isFollowed, PURGE_LOG_URL } from '@stevec/wiki-app/cache-policy'
import { HOSTS } from './doors.js'
import { edgePlace, edgeProcess } from './edge-names.js'
import { logOf } from './state.js'

/**
 * With the options of its edges: they follow the purge log of a wiki that has one.
 * @param {Pick<import('./stack.js').StackOptions, 'edgeOptions' | 'wikiEnvironment'>} options
 * @returns {import('@stevec/nginx').EdgeOptions}
 */
export const edgeOptionsOf = ({ edgeOptions, wikiEnvironment }) =>
  ({ ...edgeOptions, follow: isFollowed(wikiEnvironment?.CACHE_POLICY) ? PURGE_LOG_URL : undefined })

/**
 * Starts the edges and the client's own caching proxy.
 * @param {import('./state.js').StackState} state
 * @param {import('./stack.js').Starting} starting
 * @param {import('./layout.js').InternalPorts} internal
 * @param {import('./layout.js').EdgePorts[]} edges
 * @param {import('@stevec/nginx').EdgeOptions} edgeOptions
 * @param {import('@stevec/nginx').Tls} [tls]  of their clients
 */
export async function startProxies (
  { ports, controls, config_hashes: hashes }, starting, internal, edges, edgeOptions, tls
) {
  const { directory, outlive, started, next } = starting
  next('nginx')
  /** @type {{folder: string, name: string, role: Parameters<typeof prepareRole>[0]}[]} */
  const proxies = edges.map(({ name, port, originPort, controlPort }, index) => ({
    folder: name,
    name: edgeProcess(name),
    role: {
      role: 'edge',
      port,
      // Clients address each by the name and port of the first, as with anycast, and so does a purge.
      publicPort: ports.edge,
      originPort,
      cachedHost: HOSTS.cached,
      nocacheHost: HOSTS.nocache,
      controlPort,
      controlToken: controls[name].token,
      ...edges.length === 1 ? {} : { place: edgePlace(index) },
      ...edgeOptions,
      tls
    }
  }))
  proxies.push({
    folder: 'local',
    name: 'nginx local',
    role: {
      role: 'local',
      port: internal.local,
      sourcePort: internal.localToOrigin,
      sourcePublicPort: ports.origin,
      sourceHost: HOSTS.source,
      controlPort: internal.localControl,
      controlToken: controls.local.token,
      tls
    }
  })
  const binary = requireTool('nginx').path
  const modulesDirectory = nginxModulesDirectory(binary) ?? ''
  for (const { folder, name, role } of proxies) {
    const own = path.join(directory, folder)
    const { command, args, sha256 } = await prepareRole(role, { directory: own, binary, modulesDirectory })
    hashes[`nginx/${role.role}`] = sha256
    started(await startProcess({ name, command, args, logFile: logOf(directory, name), outlive }))
  }
}
