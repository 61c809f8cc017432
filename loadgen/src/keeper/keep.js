import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, killGroup, killRemains, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { createLinks } from '@stevec/harness/toxiproxy'
import { engageProfile } from '../stack/engage-profile.js'
import { readState, writeState } from '../stack/state.js'
import { isWiki } from '../stack/wiki-names.js'
import { createBackoff, LIMITS } from './backoff.js'
import { readRecipes } from './recipes.js'
import { removeStatus, writeStatus } from './status-file.js'

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */
/** @typedef {import('./status-file.js').ServiceStatus} ServiceStatus */
/**
 * `dueMs`: of the next restart; `silent`: questions in a row without an answer
 * @typedef {{status: ServiceStatus, backoff: ReturnType<typeof createBackoff>, dueMs: number, silent: number}} Service
 */

const CHECK_MS = 500
/** A wiki that is held up answers none of six questions in a row, each for 5 s. */
const ASK_EVERY_MS = 5_000
const ASK_MAX_MS = 5_000
const SILENT_MAX = 6
const WRITE_EVERY_MS = 5_000
const LINKS_MAX_MS = 30_000

/**
 * Watches the processes of a stack, and starts each that has ended again, with the same command, environment and
 * control groups.
 * @param {object} options
 * @param {string} options.directory  of the stack
 * @param {AbortSignal} options.signal  ends it; nothing is started after that
 * @param {(line: string) => void} options.log
 * @param {import('./backoff.js').Limits} [options.limits]
 * @returns {Promise<void>} resolves when it has ended, also because the stack is gone
 */
export async function keepStack ({ directory, signal, log, limits = LIMITS }) {
  /** @type {Map<string, Service>} */
  const services = new Map()
  let [askMs, writeMs, written] = [0, 0, '']
  for (;;) {
    const state = readState(directory)
    if (signal.aborted || state === null) break
    for (const identity of state.processes) {
      const service = services.get(identity.name) ?? newService(identity.name, state.started_at, limits)
      services.set(identity.name, service)
      if (!signal.aborted) await watch(directory, service, identity, log)
    }
    const nowMs = performance.now()
    if (nowMs >= askMs) {
      askMs = nowMs + ASK_EVERY_MS
      for (const wiki of state.processes.filter(({ name }) => isWiki(name))) {
        const service = /** @type {Service} */ (services.get(wiki.name))
        // Not awaited: a wiki that does not answer must not hold up the others.
        ask(directory, service, wiki, log).catch((error) => log(`${wiki.name}: ${error.message}`))
      }
    }
    const statuses = [...services.values()].map(({ status }) => status)
    if (JSON.stringify(statuses) !== written || nowMs >= writeMs) {
      writeStatus(directory, statuses)
      written = JSON.stringify(statuses)
      writeMs = nowMs + WRITE_EVERY_MS
    }
    await delay(CHECK_MS, undefined, { signal }).catch(() => {})
  }
  removeStatus(directory)
}

/** @param {string} name @param {string} since @param {import('./backoff.js').Limits} limits @returns {Service} */
const newService = (name, since, limits) => ({
  status: { name, state: 'running', since, restarts: 0, last_restart_at: null },
  backoff: createBackoff(limits),
  dueMs: 0,
  silent: 0
})

/** @param {Service} service @param {ServiceStatus['state']} state */
function enter (service, state) {
  service.status = { ...service.status, state, since: new Date().toISOString() }
}

/**
 * @param {string} directory @param {Service} service @param {ProcessIdentity} identity  as recorded
 * @param {(line: string) => void} log
 */
async function watch (directory, service, identity, log) {
  const { name, state } = service.status
  if (state === 'given-up' || isAlive(identity)) return
  const nowMs = performance.now()
  if (state === 'running') {
    const waitMs = service.backoff.waitMs(nowMs)
    enter(service, waitMs === null ? 'given-up' : 'restarting')
    if (waitMs === null) {
      return log(
        `${name} has ended again, and is given up: see its log, mend the cause, then stevec down and stevec up`)
    }
    service.dueMs = nowMs + waitMs
    return log(`${name} has ended; it is started again in ${waitMs / 1000} s`)
  }
  if (nowMs < service.dueMs) return
  service.backoff.noteRestart(nowMs)
  await restart(directory, identity)
    .then((pid) => log(`${name} is started again, as process ${pid}`))
    .catch((error) => log(`${name} cannot be started: ${error.message}`))
  const { restarts } = service.status
  service.status = { ...service.status, restarts: restarts + 1, last_restart_at: new Date().toISOString() }
  service.silent = 0
  // If it has not started, the next check finds it dead.
  enter(service, 'running')
}

/**
 * @param {string} directory @param {ProcessIdentity} identity  of the process that has ended
 * @returns {Promise<number>} the pid of the new one
 * @throws {Error} when it does not start, or is stopped again: it could not be recorded, so that `stevec down` would
 *   not find it, or toxiproxy refused its links
 */
async function restart (directory, identity) {
  const recipe = readRecipes(directory)[identity.name]
  if (recipe === undefined) throw new Error('how it was started is not known')
  // Workers of a dead nginx still have its port.
  await killRemains(identity)
  const { env, namespace, ...rest } = recipe
  const started = await startProcess({
    ...rest, name: identity.name, outlive: true, ...env && { env }, ...namespace && { namespace }
  })
  try {
    const state = record(directory, started)
    if (started.name === 'toxiproxy') await restoreLinks(state)
  } catch (error) {
    await stopProcess(started)
    throw error
  }
  return started.pid
}

/**
 * @param {string} directory @param {ProcessIdentity} started  in place of the one of its name
 * @returns {import('../stack/state.js').StackState} as written
 */
function record (directory, { name, pid, start_ticks: startTicks }) {
  const state = readState(directory)
  if (state === null) throw new Error('the stack is gone')
  const index = state.processes.findIndex((process) => process.name === name)
  if (index === -1) throw new Error('the stack has no such process any more')
  state.processes[index] = { name, pid, start_ticks: startTicks }
  writeState(directory, state)
  return state
}

/** @param {import('../stack/state.js').StackState} state */
async function restoreLinks (state) {
  const { links, links_api: api } = state
  if (links === undefined || api === null) return
  await waitUntil(() => request(`${api}/version`).then(({ status }) => status === 200, () => false), LINKS_MAX_MS)
  await createLinks(api, links)
  await engageProfile(state)
}

/**
 * Kills a wiki that does not answer /healthz, which asks no database; the next check finds it dead.
 * @param {string} directory @param {Service} service @param {ProcessIdentity} identity
 * @param {(line: string) => void} log
 */
async function ask (directory, service, identity, log) {
  const { PORT: port } = readRecipes(directory)[identity.name]?.env ?? {}
  if (port === undefined || !isAlive(identity)) return
  const answered = await request(`http://127.0.0.1:${port}/healthz`, { timeoutMs: ASK_MAX_MS })
    .then(({ status }) => status === 200, () => false)
  service.silent = answered ? 0 : service.silent + 1
  if (service.silent < SILENT_MAX || !isAlive(identity)) return
  service.silent = 0
  log(`${identity.name} has not answered for ${SILENT_MAX * ASK_EVERY_MS / 1000} s, and is killed`)
  await killGroup(identity)
}
