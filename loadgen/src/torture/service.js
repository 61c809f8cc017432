import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { isAlive, killGroup, logTail, startProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { logOf } from '../stack/state.js'

const READY_MAX_MS = 120_000
const ANSWER_MAX_MS = 2_000

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */

/**
 * @typedef {object} Service  a process that can die and be held up
 * @property {() => ProcessIdentity} identity
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} start  again
 * @property {() => Promise<unknown>} [cut]  from all others
 * @property {() => Promise<unknown>} [join]
 */

/**
 * `directory`: of the cluster, for logs; `onStart`: called after each start, so that the caller can stop the process
 * @typedef {{directory: string, onStart: (identity: ProcessIdentity) => void}} Place
 */

/**
 * @param {Place & {name: string, command: string, args: string[], env?: NodeJS.ProcessEnv, url?: string}} what  `url`
 *   answers once it is up
 * @param {Pick<Service, 'cut' | 'join'>} [link]
 * @returns {Service}
 */
export function createService ({ name, command, args, env, url, directory, onStart }, link = {}) {
  const logFile = logOf(directory, name)
  /** @type {ProcessIdentity} */
  let running
  return {
    identity: () => running,
    kill: () => killGroup(running),
    async start () {
      running = await startProcess({ name, command, args, logFile, env })
      onStart(running)
      if (url !== undefined) await waitUntil(() => !isAlive(running) || answers(url), READY_MAX_MS)
      if (!isAlive(running)) throw new Error(`${name} ended:\n${logTail(logFile)}`)
    },
    ...link
  }
}

/**
 * @param {Place & {name: string, url?: string}} what  as createService takes it
 * @param {Parameters<typeof prepareRole>[0]} role
 */
export async function createNginx ({ name, url, directory, onStart }, role) {
  const { path: binary } = requireTool('nginx')
  const home = path.join(directory, `${name.replaceAll(' ', '-')}-nginx`)
  mkdirSync(home, { recursive: true })
  const modulesDirectory = nginxModulesDirectory(binary) ?? ''
  const { command, args } = await prepareRole(role, { directory: home, binary, modulesDirectory })
  return createService({ name, command, args, url, directory, onStart })
}

/** @param {string} url @returns {Promise<boolean>} whether it answers with a status of success */
export const answers = (url) => fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) })
  .then(({ ok }) => ok, () => false)
