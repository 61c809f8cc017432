import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { allPids, childPids, readProcessStat, readThreadStates } from './proc.js'

const KILLED_TIMEOUT_MS = 5_000
const GONE_TIMEOUT_MS = 10_000
const PAUSE_MAX_MS = 60_000

/**
 * Identifies a process: a pid alone may be reused by another process, a pid with its start time may not.
 * @typedef {object} ProcessIdentity
 * @property {string} name
 * @property {number} pid
 * @property {number} start_ticks  in clock ticks since boot
 */

/**
 * Returns the start time of a living process.
 * @param {number} pid
 * @returns {number | null} clock ticks since boot; null if the process has ended or is a zombie without other threads
 */
export function startTicks (pid) {
  const stat = readProcessStat(pid)
  return stat === null || hasEnded(stat) ? null : stat.start_ticks
}

/**
 * After a kill, the first thread is a zombie while other threads, which still hold ports and locks, are ending.
 * @param {import('./proc.js').ProcessStat} stat
 */
const hasEnded = ({ state, threads }) => ['Z', 'X'].includes(state) && threads <= 1

/**
 * @param {ProcessIdentity} identity
 * @returns {boolean} whether exactly this process still runs
 */
export function isAlive (identity) {
  return startTicks(identity.pid) === identity.start_ticks
}

/**
 * How a process was started, for another one like it. May hold secrets.
 * @typedef {object} Recipe
 * @property {string} command
 * @property {string[]} args
 * @property {string} logFile
 * @property {string[]} cgroups
 * @property {NodeJS.ProcessEnv | null} env  null: that of the process that started it
 * @property {string | null} namespace
 */

/**
 * Joins the group of each cgroup.procs file before `--`, then executes the command after it. So everything that the
 * command allocates and starts is in the groups.
 */
const ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 1; shift; done; shift; exec "$@"'

/**
 * Starts a process in a session of its own: a Ctrl-C at the terminal then reaches only the command that started it, and
 * that command stops its processes in order. When the process ends, also by itself, what it leaves of its process group
 * is killed, as long as this process lives.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {string} options.logFile  gets stdout and stderr
 * @param {boolean} [options.outlive]  true: the process survives this one (`stevec up`); false: the kernel sends it
 *   SIGTERM when this process dies, even by SIGKILL (prctl(2), PR_SET_PDEATHSIG)
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string[]} [options.cgroups]  directories of the control groups to start it in
 * @param {string} [options.namespace]  file of the network namespace to start it in, as for nsenter(1)
 * @returns {Promise<ProcessIdentity & {exited: Promise<number | null>, recipe: Recipe}>}  `exited` resolves with the
 *   exit code, null for a signal, once nothing of its group is left
 * @throws {Error} when the command cannot be started
 */
export async function startProcess (
  { name, command, args, logFile, outlive = false, env = process.env, cgroups = [], namespace }
) {
  const log = openSync(logFile, 'a', 0o600)
  const entered = namespace === undefined ? [] : ['nsenter', `--net=${namespace}`, '--']
  const bound = [...entered, ...outlive ? [] : ['setpriv', '--pdeathsig', 'TERM', '--'], command, ...args]
  const [file, ...argv] = cgroups.length === 0
    ? bound
    : ['sh', '-c', ENTER_GROUPS, 'sh', ...cgroups.map((directory) => `${directory}/cgroup.procs`), '--', ...bound]
  const child = spawn(file, argv, { detached: true, stdio: ['ignore', log, log], env })
  closeSync(log)
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => child.once('exit', (code) =>
    killRest(Number(child.pid)).finally(() => resolve(code))))
  await new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(undefined))
    child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}`)))
  })
  if (outlive) child.unref()
  const pid = /** @type {number} */ (child.pid)
  const own = env === process.env ? null : env
  const recipe = { command, args, logFile, cgroups, env: own, namespace: namespace ?? null }
  return { name, pid, start_ticks: startTicks(pid) ?? -1, exited, recipe }
}

/**
 * Stops a process and its process group: SIGTERM to the process, which stops its children in order; then, once it has
 * ended or the time is up, SIGKILL to what is left of the group. If the process has ended before, nothing is sent: its
 * pid and the number of its group may be reused. The process that started it has killed the rest of the group then.
 * @param {ProcessIdentity} identity
 * @param {number} [timeoutMs]
 */
export async function stopProcess (identity, timeoutMs = 15_000) {
  if (!isAlive(identity)) return
  send(identity.pid, 'SIGTERM')
  await waitUntil(() => !isAlive(identity), timeoutMs)
  // Also of a process that leads no group, as one that startProcess did not start.
  if (isAlive(identity)) send(identity.pid, 'SIGKILL')
  if (membersOf(identity).length > 0) send(-identity.pid, 'SIGKILL')
  await waitUntil(() => !isAlive(identity) && membersOf(identity).length === 0, KILLED_TIMEOUT_MS)
}

/**
 * @param {number} pid  negative: of a group
 * @param {NodeJS.Signals | 0} signal  0: none, only asks
 * @returns {boolean} whether there is such a process or group, and it may be sent to
 */
function send (pid, signal) {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/**
 * @param {Omit<ProcessIdentity, 'name'>} leader
 * @returns {number[]} pids of its group that have not ended; [] if the leader's pid is another process's by now
 */
function membersOf (leader) {
  const ticks = startTicks(leader.pid)
  if ((ticks !== null && ticks !== leader.start_ticks) || !send(-leader.pid, 0)) return []
  return allPids().filter((pid) => {
    const stat = readProcessStat(pid)
    return stat?.group === leader.pid && !hasEnded(stat)
  })
}

/**
 * Kills what a process that has just ended leaves of its group. The number is still that group's: Linux gives it to no
 * other process while the group has members (free_pid in kernel/pid.c), and uses a number that becomes free last
 * (idr_alloc_cyclic). Later, the number may be that of a daemon's group, whose leader has ended, too.
 * @param {number} pid
 */
async function killRest (pid) {
  if (!send(-pid, 'SIGKILL')) return
  await waitUntil(() => membersOf({ pid, start_ticks: -1 }).length === 0, KILLED_TIMEOUT_MS)
}

/**
 * Kills what a process that ended by itself has left of its group, such as workers that still listen. Does nothing
 * while it lives, or when its pid is another process's by now.
 * @param {ProcessIdentity} identity
 */
export async function killRemains (identity) {
  if (isAlive(identity) || membersOf(identity).length === 0) return
  send(-identity.pid, 'SIGKILL')
  await waitUntil(() => membersOf(identity).length === 0, KILLED_TIMEOUT_MS)
}

/**
 * Kills a process and its descendants, as a crash would, and waits until they are gone.
 * @param {ProcessIdentity} identity  of a process that startProcess started: it leads a process group of its own
 * @throws {Error} when one of them does not die
 */
export async function killGroup (identity) {
  const all = [identity, ...descendants(identity)]
  if (isAlive(identity)) process.kill(-identity.pid, 'SIGKILL')
  const gone = await waitUntil(() => all.every((each) => !isAlive(each)), GONE_TIMEOUT_MS, 1)
  if (!gone) throw new Error(`${identity.name} (${identity.pid}) does not end after SIGKILL`)
}

/**
 * @param {ProcessIdentity} identity
 * @returns {ProcessIdentity[]}
 */
function descendants ({ name, pid }) {
  return childPids(pid)
    .map((child) => ({ name, pid: child, start_ticks: startTicks(child) ?? -1 }))
    .flatMap((child) => [child, ...descendants(child)])
}

/**
 * Sends SIGSTOP and waits until every thread is stopped: on a busy machine threads run on after the signal was sent,
 * until the one that it was delivered to gets a core.
 * @param {number} pid
 * @throws {Error} when the process is gone, or still runs after a minute
 */
export async function pauseProcess (pid) {
  process.kill(pid, 'SIGSTOP')
  const isPaused = () => readThreadStates(pid).every((state) => state === 'T')
  if (!await waitUntil(isPaused, PAUSE_MAX_MS, 1)) throw new Error(`process ${pid} was not stopped by SIGSTOP`)
}

/**
 * Polls a condition.
 * @template T
 * @param {() => T | Promise<T>} condition  truthy when fulfilled
 * @param {number} timeoutMs
 * @param {number} [intervalMs]
 * @returns {Promise<T | undefined>} the truthy value, or undefined when the time is up
 */
export async function waitUntil (condition, timeoutMs, intervalMs = 20) {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value) return value
    if (performance.now() >= deadline) return undefined
    await delay(intervalMs)
  }
}

/**
 * @param {string} logFile
 * @param {number} [lines]
 * @returns {string} the last lines of a log, for an error message
 */
export function logTail (logFile, lines = 12) {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  } catch {
    return ''
  }
}
