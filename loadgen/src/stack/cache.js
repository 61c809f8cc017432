import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareCache } from '@stevec/cdn/caches'
import { prepareRole } from '@stevec/nginx'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { HOSTS } from './doors.js'
import { request } from '@stevec/harness/request'
import { killGroup, startProcess, waitUntil } from '@stevec/harness/processes'
import { writeState } from './state.js'

const READY_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 2_000

/** @typedef {'edge' | 'nginx' | import('@stevec/cdn/caches').OtherCache} CacheName */

/**
 * A cache at the door `cached` instead of our edge. Its folder is not in the stack's, which other users may not enter.
 * @typedef {{name: Exclude<CacheName, 'edge'>, directory: string, port: number, origin_port: number, public_port: number, control_port: number, control_token: string}} CacheAtDoor
 */

/** @typedef {import('./state.js').StackState} StackState */

/** @returns {string} a folder for a cache, to be removed with `removeCache` */
export const makeCacheDirectory = () => mkdtempSync(path.join(tmpdir(), 'stevec-cache-'))

/** @param {Pick<CacheAtDoor, 'directory'>} cache */
export const removeCache = ({ directory }) => rmSync(directory, { recursive: true, force: true })

/**
 * @param {CacheAtDoor} cache
 * @param {string} stackDirectory  for its log
 * @param {(identity: import('@stevec/harness/processes').ProcessIdentity) => void} onStart
 * @returns {Promise<string>} the hash of its configuration
 * @throws {import('@stevec/harness/tools/locate').ToolError} when its program is missing
 */
export async function startCache (cache, stackDirectory, onStart) {
  const { command, args, sha256 } = await prepare(cache)
  onStart(await startProcess({ name: `cache ${cache.name}`, command, args, logFile: path.join(stackDirectory, `cache-${cache.name}.log`) }))
  return sha256
}

/** @param {CacheAtDoor} cache */
async function prepare ({ name, directory, port, origin_port: originPort, public_port: publicPort, control_port: controlPort, control_token: controlToken }) {
  const own = path.join(directory, 'cache')
  if (name !== 'nginx') return prepareCache(name, { binary: requireTool(name).path, directory: own, port, originPort })
  // nginx's own proxy_cache is what the role `local` is; only where it stands differs.
  const binary = requireTool('nginx').path
  return prepareRole({ role: 'local', port, sourcePort: originPort, sourcePublicPort: publicPort, sourceHost: HOSTS.cached, controlPort, controlToken }, { directory: own, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
}

/**
 * Empties the cache at the door `cached` if it is one without a purge of everything: it is killed and started again with nothing stored.
 * @param {StackState} state  is changed, as is what is on record of it
 * @param {string} stackDirectory
 * @throws {Error} when it does not answer again
 */
export async function emptyCache (state, stackDirectory) {
  const { cache } = state
  // nginx's own has a control, like the edge.
  if (!cache || cache.name === 'nginx') return
  const index = state.processes.findIndex(({ name }) => name === `cache ${cache.name}`)
  await killGroup(state.processes[index])
  await startCache(cache, stackDirectory, ({ name, pid, start_ticks: startTicks }) => {
    state.processes[index] = { name, pid, start_ticks: startTicks }
    writeState(stackDirectory, state)
  })
  const answers = () => request(`http://127.0.0.1:${cache.port}/healthz`, { timeoutMs: ANSWER_TIMEOUT_MS }).then(({ status }) => status === 200, () => false)
  if (!await waitUntil(answers, READY_TIMEOUT_MS)) throw new Error(`${cache.name} does not answer after it was started again; its log is in ${stackDirectory}`)
}
