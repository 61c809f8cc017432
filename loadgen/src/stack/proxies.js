import path from 'node:path'
import { startProcess } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { HOSTS } from './doors.js'
import { logOf } from './state.js'

/**
 * Starts the edge and the client's own caching proxy.
 * @param {import('./state.js').StackState} state
 * @param {import('./stack.js').Starting} starting
 * @param {import('./layout.js').InternalPorts} internal
 * @param {import('@stevec/nginx').EdgeOptions} edgeOptions
 */
export async function startProxies ({ ports, controls, config_hashes: hashes }, starting, internal, edgeOptions) {
  const { directory, outlive, started, next } = starting
  next('nginx')
  const roles = /** @type {const} */ ([
    {
      role: 'edge',
      port: internal.edge,
      publicPort: ports.edge,
      originPort: internal.edgeToOrigin,
      cachedHost: HOSTS.cached,
      nocacheHost: HOSTS.nocache,
      controlPort: internal.edgeControl,
      controlToken: controls.edge.token,
      ...edgeOptions
    },
    {
      role: 'local',
      port: internal.local,
      sourcePort: internal.localToOrigin,
      sourcePublicPort: ports.origin,
      sourceHost: HOSTS.source,
      controlPort: internal.localControl,
      controlToken: controls.local.token
    }
  ])
  const binary = requireTool('nginx').path
  const modulesDirectory = nginxModulesDirectory(binary) ?? ''
  for (const role of roles) {
    const name = `nginx ${role.role}`
    const own = path.join(directory, role.role)
    const { command, args, sha256 } = await prepareRole(role, { directory: own, binary, modulesDirectory })
    hashes[`nginx/${role.role}`] = sha256
    started(await startProcess({ name, command, args, logFile: logOf(directory, name), outlive }))
  }
}
