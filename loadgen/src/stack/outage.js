import { readFileSync } from 'node:fs'
import path from 'node:path'
import { requireTool } from '../tools/locate.js'
import { request } from './doors.js'
import { isAlive, startProcess, startTicks, waitUntil } from './processes.js'
import { writeState } from './state.js'

const NAME = 'nginx origin'
const GONE_TIMEOUT_MS = 10_000
const READY_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 2_000

/** @typedef {import('./state.js').StackState} StackState */

/** @param {StackState} state */
export function originOf (state) {
  const identity = state.processes.find(({ name }) => name === NAME)
  if (identity === undefined) throw new Error('the stack has no origin nginx')
  return identity
}

/**
 * Kills the origin's nginx, master and worker, as a crash would: nothing is finished, nothing more is logged.
 * @param {StackState} state
 * @throws {Error} when it does not die
 */
export async function killOrigin (state) {
  await killGroup(originOf(state))
}

/**
 * Kills a process and all that it has started, and waits until they are gone.
 * @param {import('./processes.js').ProcessIdentity} identity  of one that startProcess started, and so leads a process group of its own
 * @throws {Error} when it does not die
 */
export async function killGroup (identity) {
  const all = [identity, ...descendants(identity)]
  if (isAlive(identity)) process.kill(-identity.pid, 'SIGKILL')
  const gone = await waitUntil(() => all.every((each) => !isAlive(each)), GONE_TIMEOUT_MS, 1)
  if (!gone) throw new Error(`${identity.name} (${identity.pid}) does not die`)
}

/**
 * @param {import('./processes.js').ProcessIdentity} identity
 * @returns {import('./processes.js').ProcessIdentity[]}
 */
function descendants ({ name, pid }) {
  let children = ''
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  } catch {
    // It is gone already.
  }
  return children.trim().split(' ').filter(Boolean).map((child) => ({ name, pid: Number(child), start_ticks: startTicks(Number(child)) ?? -1 })).flatMap((child) => [child, ...descendants(child)])
}

/**
 * Starts it again with the configuration that it had, and waits until the wiki answers through it.
 * @param {StackState} state  is changed, as is what is on record of it
 * @param {string} directory  the stack's own
 * @returns {Promise<{startedAtMs: number, answeringAtMs: number}>} times of day
 * @throws {Error} when it does not come up
 */
export async function startOrigin (state, directory) {
  const own = path.join(directory, 'origin')
  const startedAtMs = Date.now()
  const { name, pid, start_ticks: startTicksNew } = await startProcess({
    name: NAME,
    command: requireTool('nginx').path,
    args: ['-p', own, '-c', path.join(own, 'nginx.conf')],
    logFile: path.join(directory, 'nginx-origin.log'),
    cgroups: state.limits.directories
  })
  state.processes[state.processes.indexOf(originOf(state))] = { name, pid, start_ticks: startTicksNew }
  writeState(directory, state)
  const answers = () => request(`${state.doors.source.url}/healthz`, { timeoutMs: ANSWER_TIMEOUT_MS }).then(({ status }) => status === 200, () => false)
  if (!await waitUntil(answers, READY_TIMEOUT_MS, 5)) throw new Error(`the origin's nginx does not answer after it was started again; its log is in ${own}`)
  return { startedAtMs, answeringAtMs: Date.now() }
}
