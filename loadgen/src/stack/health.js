import { isAlive, logTail, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { hasKeeper } from '../keeper/keeper-lock.js'
import { readStatus } from '../keeper/status-file.js'
import { entrancesOf } from './doors.js'
import { StackError } from './stack-error.js'
import { isRunning, logOf, readState } from './state.js'

const READY_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 2_000

/** @typedef {import('./state.js').StackState} StackState */

/**
 * @param {string} directory  of a stack
 * @returns {Promise<null | {state: StackState, dead: string[], keeper: boolean,
 *   services: import('../keeper/status-file.js').ServiceStatus[],
 *   doors: Record<string, import('./doors.js').Door & {healthy: boolean}>}>} null when no stack runs there; `dead`
 *   names processes that should run but do not; `keeper`: whether a process starts these again; `services`: what it did
 */
export async function inspectStack (directory) {
  const state = readState(directory)
  if (state === null || !isRunning(state)) return null
  const doors = await Promise.all(Object.entries(state.doors).map(async ([name, door]) =>
    [name, { ...door, healthy: await answers(door) }]))
  return {
    state,
    dead: state.processes.filter((identity) => !isAlive(identity)).map(({ name }) => name),
    keeper: hasKeeper(directory),
    services: readStatus(directory),
    doors: Object.fromEntries(doors)
  }
}

/**
 * @param {StackState} state
 * @param {string} directory  of the stack
 * @throws {StackError} when a door does not answer in time, or a process ends
 */
export async function waitForDoors (state, directory) {
  const dead = () => state.processes.find((identity) => !isAlive(identity))
  for (const [name, door] of Object.entries(state.doors)) {
    const open = async () => dead() !== undefined || answers(door)
    const opened = await waitUntil(open, READY_TIMEOUT_MS, 50)
    const ended = dead()
    if (ended) {
      throw new StackError(
        `${ended.name} ended while the stack was starting:\n${logTail(logOf(directory, ended.name))}`
      )
    }
    if (!opened) throw new StackError(`the door ${name} (${door.url}) does not answer; the logs are in ${directory}`)
  }
}

/** @param {import('./doors.js').Door} door @returns {Promise<boolean>} whether the wiki does, through each edge */
async function answers (door) {
  try {
    const responses = await Promise.all(entrancesOf(door).map(({ url, headers, caFile }) =>
      request(`${url}/healthz`, { headers, caFile, timeoutMs: ANSWER_TIMEOUT_MS })))
    return responses.every(({ status }) => status === 200)
  } catch {
    return false
  }
}
