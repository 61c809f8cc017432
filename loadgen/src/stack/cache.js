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
 * A cache that replaces our edge at the door `cached`. Its folder is outside the stack's, which other users may not
 * enter.
 * @typedef {object} CacheAtDoor
 * @property {Exclude<CacheName, 'edge'>} name
 * @property {string} directory
 * @property {number} port
 * @property {number} origin_port
 * @property {number} public_port
 * @property {number} control_port
 * @property {string} control_token
 */

/** @typedef {import('./state.js').StackState} StackState */

/** @returns {string} a folder for a cache; remove it with `removeCache` */
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
  onStart(await startProcess({
    name: `cache ${cache.name}`,
    command,
    args,
    logFile: path.join(stackDirectory, `cache-${cache.name}.log`)
  }))
  return sha256
}

/** @param {CacheAtDoor} cache */
async function prepare ({
  name,
  directory,
  port,
  origin_port: originPort,
  public_port: publicPort,
  control_port: controlPort,
  control_token: controlToken
}) {
  const own = path.join(directory, 'cache')
  if (name !== 'nginx') return prepareCache(name, { binary: requireTool(name).path, directory: own, port, originPort })
  // The role `local` is nginx's own proxy_cache; only its place differs.
  const binary = requireTool('nginx').path
  return prepareRole(
    {
      role: 'local',
      port,
      sourcePort: originPort,
      sourcePublicPort: publicPort,
      sourceHost: HOSTS.cached,
      controlPort,
      controlToken
    },
    { directory: own, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
  )
}

/**
 * Empties a cache at the door `cached` that cannot purge everything: kills it and starts it again with an empty store.
 * @param {StackState} state  updated, also on disk
 * @param {string} stackDirectory
 * @throws {Error} when it does not answer again
 */
export async function emptyCache (state, stackDirectory) {
  const { cache } = state
  // nginx's own cache has a control listener, like the edge.
  if (!cache || cache.name === 'nginx') return
  const index = state.processes.findIndex(({ name }) => name === `cache ${cache.name}`)
  await killGroup(state.processes[index])
  await startCache(cache, stackDirectory, ({ name, pid, start_ticks: startTicks }) => {
    state.processes[index] = { name, pid, start_ticks: startTicks }
    writeState(stackDirectory, state)
  })
  const answers = () => request(`http://127.0.0.1:${cache.port}/healthz`, { timeoutMs: ANSWER_TIMEOUT_MS })
    .then(({ status }) => status === 200, () => false)
  if (!await waitUntil(answers, READY_TIMEOUT_MS)) {
    throw new Error(`${cache.name} does not answer after it was started again; its log is in ${stackDirectory}`)
  }
}
