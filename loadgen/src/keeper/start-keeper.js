import { fileURLToPath } from 'node:url'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { logOf } from '../stack/state.js'
import { hasKeeper } from './keeper-lock.js'

const MAIN = fileURLToPath(new URL('main.js', import.meta.url))
const READY_MAX_MS = 60_000

/**
 * Starts the process that watches a stack, unless one does.
 * @param {string} directory  of the stack
 * @param {number} [readyMaxMs]
 * @returns {Promise<boolean>} whether it was started
 * @throws {Error} when it ends at once, or has not begun in time; then it is stopped
 */
export async function startKeeper (directory, readyMaxMs = READY_MAX_MS) {
  if (hasKeeper(directory)) return false
  const logFile = logOf(directory, 'keeper')
  const keeper = await startProcess({
    name: 'keeper', command: process.execPath, args: [MAIN, directory], logFile, outlive: true
  })
  await waitUntil(() => !isAlive(keeper) || hasKeeper(directory), readyMaxMs)
  if (hasKeeper(directory)) return true
  const what = isAlive(keeper) ? `did not begin within ${readyMaxMs / 1000} s` : 'has ended'
  await stopProcess(keeper)
  throw new Error(`the keeper of the stack ${what}; run \`stevec up\` again:\n${logTail(logFile)}`)
}
