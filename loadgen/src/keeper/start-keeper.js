import { fileURLToPath } from 'node:url'
import { isAlive, logTail, startProcess, waitUntil } from '@stevec/harness/processes'
import { logOf } from '../stack/state.js'
import { hasKeeper } from './keeper-lock.js'

const MAIN = fileURLToPath(new URL('main.js', import.meta.url))
const READY_MAX_MS = 60_000

/**
 * Starts the process that watches a stack, unless one does.
 * @param {string} directory  of the stack
 * @returns {Promise<boolean>} whether it was started
 * @throws {Error} when it ends at once
 */
export async function startKeeper (directory) {
  if (hasKeeper(directory)) return false
  const logFile = logOf(directory, 'keeper')
  const keeper = await startProcess({
    name: 'keeper', command: process.execPath, args: [MAIN, directory], logFile, outlive: true
  })
  await waitUntil(() => !isAlive(keeper) || hasKeeper(directory), READY_MAX_MS)
  if (!hasKeeper(directory)) throw new Error(`the keeper of the stack has ended:\n${logTail(logFile)}`)
  return true
}
