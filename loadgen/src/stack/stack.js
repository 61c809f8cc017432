import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { needsPurges } from '../../../wiki-app/src/cache-policy.js'
import { DEFAULT_PORTS, readConfig } from '../config.js'
import { createLocalOrigin } from '../origin/local.js'
import { restoreOrigin } from '../origin/remote.js'
import { engageProfile } from '../profile/apply.js'
import { removeGroups } from '../profile/cgroup.js'
import { createLimits } from '../profile/limits.js'
import { loadProfile } from '../profile/profile.js'
import { nginxModulesDirectory, requireTool } from '../tools/locate.js'
import { makeCacheDirectory, removeCache, startCache } from './cache.js'
import { doorsOf, HOSTS, request } from './doors.js'
import { startMongod } from './mongod.js'
import { freePorts, isFree } from './ports.js'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from './processes.js'
import { isRunning, readState, removeState, writeState } from './state.js'
import { startToxiproxy } from './toxiproxy.js'

const READY_TIMEOUT_MS = 60_000

/** @typedef {import('../config.js').Ports} Ports */
/** @typedef {import('./processes.js').ProcessIdentity} ProcessIdentity */

/** A stack that cannot be started as asked; the message says what to do. */
export class StackError extends Error {}

/**
 * Starts mongod, the origin, the other two nginx roles and the links between them, and waits until every door answers.
 * What was started is stopped again when anything fails.
 * @param {object} options
 * @param {string} options.directory  the stack's own: state, logs, caches, and the database unless `databaseDirectory`
 * @param {string} [options.databaseDirectory]  one that is kept over restarts
 * @param {string} [options.mongodbUri]  a database of the user's instead of our own mongod
 * @param {Ports} options.ports
 * @param {import('../origin/origin.js').Origin} [options.origin]  where the wiki and its nginx run; default: here
 * @param {boolean} [options.outlive]  true: goes on when this process ends
 * @param {Record<string, string>} [options.wikiEnvironment]  settings of the wiki, e.g. CACHE_TTL_S
 * @param {boolean} [options.keepsZone]  whether edits purge the zone in PURGE_ZONE instead of the stack's own edge
 * @param {number} [options.requestsAtOnceMax]  that the origin's nginx lets be under way at the wiki; default: any number
 * @param {import('@stevec/nginx').EdgeOptions} [options.edgeOptions]
 * @param {import('./cache.js').CacheName} [options.cache]  what stands at the door `cached`; default our edge
 * @param {import('../profile/profile.js').Profile} [options.profile]  where origin and client stand; default: `none`
 * @param {boolean} [options.engage]  false: everything runs at full speed until `engageProfile`
 * @param {AbortSignal} [options.signal]  gives up between two parts, and stops what was started
 * @param {(part: string) => void} [options.onProgress]
 * @returns {Promise<import('./state.js').StackState>}
 * @throws {StackError} when a port is taken, a tool is missing or a part does not come up
 */
export async function startStack ({
  directory,
  databaseDirectory = directory,
  mongodbUri,
  ports,
  origin = createLocalOrigin(),
  outlive = false,
  wikiEnvironment = {},
  keepsZone = !wikiEnvironment.CACHE_POLICY,
  requestsAtOnceMax,
  edgeOptions = {},
  cache = 'edge',
  profile = loadProfile('none', { stateDirectory: directory }),
  engage = true,
  signal,
  onProgress = () => {}
}) {
  const nginx = requireTool('nginx')
  await refuseTakenPorts(ports, mongodbUri === undefined)
  for (const role of ['origin', 'edge', 'local']) rmSync(path.join(directory, role), { recursive: true, force: true })
  mkdirSync(directory, { recursive: true, mode: 0o700 })

  const spare = await freePorts(8, Object.values(ports))
  const [cacheListen, clientToCache, cacheToOrigin, cacheControl] = await freePorts(4, [...Object.values(ports), ...spare])
  const [edgeListen, nginxPort, localListen, edgeToOrigin, localToOrigin, edgeControl, localControl, toxiproxyApi] = spare
  const tokens = { edge: randomBytes(16).toString('hex'), local: randomBytes(16).toString('hex') }
  /** @type {import('./state.js').StackState} */
  const state = {
    schema_version: 1,
    started_at: new Date().toISOString(),
    ports,
    doors: doorsOf(ports),
    controls: {
      edge: { url: `http://127.0.0.1:${edgeControl}`, token: tokens.edge },
      local: { url: `http://127.0.0.1:${localControl}`, token: tokens.local }
    },
    config_hashes: {},
    processes: [],
    cgroups: [],
    profile,
    limits: { controllers: {}, directories: [], missing: {} },
    cache_policy: wikiEnvironment.CACHE_POLICY ?? null,
    links_api: `http://127.0.0.1:${toxiproxyApi}`,
    origin: origin.record()
  }
  if (cache !== 'edge') {
    state.cache = { name: cache, directory: makeCacheDirectory(), port: cacheListen, origin_port: cacheToOrigin, public_port: clientToCache, control_port: cacheControl, control_token: randomBytes(16).toString('hex') }
    state.doors.cached = { ...state.doors.cached, url: `http://${HOSTS.cached}:${clientToCache}`, path: `${cache} (caching) → origin → wiki` }
    if (cache === 'nginx') state.controls.cache = { url: `http://127.0.0.1:${cacheControl}`, token: state.cache.control_token }
  }
  const next = (/** @type {string} */ part) => {
    signal?.throwIfAborted()
    onProgress(part)
  }
  /** Written down at once, so that an interrupted start can still be cleaned up. One that is started again takes the place of the former. @param {ProcessIdentity} identity */
  const started = ({ name, pid, start_ticks: startTicks }) => {
    const former = state.processes.findIndex((identity) => identity.name === name)
    state.processes[former === -1 ? state.processes.length : former] = { name, pid, start_ticks: startTicks }
    writeState(directory, state)
  }

  try {
    state.limits = createLimits(profile.asked.origin, (directories) => {
      state.cgroups = directories
      writeState(directory, state)
    })
    const lost = /** @type {const} */ (['cpu', 'memory']).find((name) => profile.applied[name] && !state.limits.controllers[name])
    if (lost) throw new StackError(`the profile ${profile.name} cannot be held to any more: ${state.limits.missing[lost]}`)
    const cgroups = state.limits.directories

    let uri = mongodbUri
    if (uri === undefined) {
      next('mongod')
      mkdirSync(databaseDirectory, { recursive: true, mode: 0o700 })
      const mongod = await startMongod({ port: ports.mongod, directory: databaseDirectory, outlive, cgroups, onStart: started })
      uri = mongod.uri
    }

    const { address: originAddress, configHash } = await origin.start({
      directory,
      mongodbUri: uri,
      wikiPort: ports.wiki,
      nginxPort,
      purgePort: edgeControl,
      wikiEnvironment: wikiSettings(state, wikiEnvironment, keepsZone),
      requestsAtOnceMax,
      outlive,
      cgroups,
      signal,
      onStart: started,
      onPart: next
    })
    if (configHash !== null) state.config_hashes['nginx/origin'] = configHash

    next('nginx')
    const roles = /** @type {const} */ ([
      { role: 'edge', port: edgeListen, publicPort: ports.edge, originPort: edgeToOrigin, cachedHost: HOSTS.cached, nocacheHost: HOSTS.nocache, controlPort: edgeControl, controlToken: tokens.edge, ...edgeOptions },
      { role: 'local', port: localListen, sourcePort: localToOrigin, sourcePublicPort: ports.origin, sourceHost: HOSTS.source, controlPort: localControl, controlToken: tokens.local }
    ])
    const modulesDirectory = nginxModulesDirectory(nginx.path) ?? ''
    for (const role of roles) {
      const prepared = await prepareRole(role, { directory: path.join(directory, role.role), binary: nginx.path, modulesDirectory })
      state.config_hashes[`nginx/${role.role}`] = prepared.sha256
      started(await startProcess({ name: `nginx ${role.role}`, command: prepared.command, args: prepared.args, logFile: logOf(directory, `nginx ${role.role}`), outlive }))
    }

    if (state.cache) {
      next(cache)
      state.config_hashes[`cache/${cache}`] = await startCache(state.cache, directory, started)
    }

    next('links')
    await startToxiproxy({
      links: [
        { name: 'client-edge', listen: ports.edge, upstream: `127.0.0.1:${edgeListen}` },
        { name: 'client-origin', listen: ports.origin, upstream: originAddress },
        { name: 'client-local', listen: ports.local, upstream: `127.0.0.1:${localListen}` },
        { name: 'local-origin', listen: localToOrigin, upstream: originAddress },
        { name: 'edge-origin', listen: edgeToOrigin, upstream: originAddress },
        ...(state.cache ? [{ name: 'client-cache', listen: clientToCache, upstream: `127.0.0.1:${cacheListen}` }, { name: 'cache-origin', listen: cacheToOrigin, upstream: originAddress }] : [])
      ],
      port: toxiproxyApi,
      logFile: logOf(directory, 'toxiproxy'),
      outlive,
      onStart: started
    })

    next('doors')
    await waitForDoors(state, directory)
    if (engage) await engageProfile(state)
    signal?.throwIfAborted()
    return state
  } catch (error) {
    await stopStack(directory)
    throw error
  }
}

/**
 * Gives the wiki of a running stack other settings. Only the wiki is started again: its database and the caches stay as they are.
 * @param {import('./state.js').StackState} state
 * @param {import('../origin/origin.js').Origin} origin  as the stack was started with
 * @param {Record<string, string>} wikiEnvironment
 * @throws {Error} when it does not become ready
 */
export async function restartWiki (state, origin, wikiEnvironment) {
  await origin.restartWiki(wikiSettings(state, wikiEnvironment))
}

/**
 * Stops a stack's processes, the last started first, and forgets it. Nothing happens when there is none.
 * @param {string} directory
 * @returns {Promise<string[]>} the names of what was stopped
 */
export async function stopStack (directory) {
  const state = readState(directory)
  if (state === null) return []
  const stopped = []
  // What was set there is in memory only, and set anew by the next stack: an origin that has gone away need not be waited for.
  if (state.origin?.ssh) await restoreOrigin(state.origin.ssh).catch(() => {})
  for (const identity of [...state.processes].reverse()) {
    if (isAlive(identity)) stopped.push(identity.name)
    await stopProcess(identity)
  }
  if (state.cache) removeCache(state.cache)
  const left = await removeGroups(state.cgroups ?? [])
  // Kept on record, so that the next start or stop tries again.
  if (left.length > 0) writeState(directory, { ...state, processes: [], cgroups: left })
  else removeState(directory)
  return stopped
}

/**
 * @param {string} directory
 * @returns {Promise<null | {state: import('./state.js').StackState, dead: string[], doors: Record<string, import('./doors.js').Door & {healthy: boolean}>}>}
 *   null when no stack runs there; `dead` names processes that should run and do not
 */
export async function inspectStack (directory) {
  const state = readState(directory)
  if (state === null || !isRunning(state)) return null
  const doors = await Promise.all(Object.entries(state.doors).map(async ([name, door]) => [name, { ...door, healthy: await answers(`${door.url}/healthz`) }]))
  return { state, dead: state.processes.filter((identity) => !isAlive(identity)).map(({ name }) => name), doors: Object.fromEntries(doors) }
}

/**
 * The ports for a stack that may give way: the usual ones when all are free, otherwise free ones.
 * A port that was asked for is never replaced.
 * @returns {Promise<{ports: Ports, moved: boolean}>}
 */
export async function flexiblePorts (asked = readConfig().ports) {
  const names = /** @type {import('../config.js').PortName[]} */ (Object.keys(DEFAULT_PORTS))
  const open = names.filter((name) => asked[name] === undefined)
  const free = await Promise.all(open.map((name) => isFree(DEFAULT_PORTS[name])))
  if (free.every(Boolean)) return { ports: { ...DEFAULT_PORTS, ...asked }, moved: false }
  const found = await freePorts(open.length, Object.values(asked))
  return { ports: { ...DEFAULT_PORTS, ...asked, ...Object.fromEntries(open.map((name, index) => [name, found[index]])) }, moved: true }
}

/**
 * @param {string} directory
 * @param {string} name
 */
const logOf = (directory, name) => path.join(directory, `${name.replace(' ', '-')}.log`)

/**
 * @param {Ports} ports
 * @param {boolean} ownMongod
 */
async function refuseTakenPorts (ports, ownMongod) {
  const wanted = /** @type {[import('../config.js').PortName, number][]} */ (Object.entries(ports)).filter(([name]) => ownMongod || name !== 'mongod')
  const doubled = wanted.find(([, port], index) => wanted.findIndex(([, other]) => other === port) !== index)
  if (doubled) throw new StackError(`port ${doubled[1]} is given twice; every part needs its own (${wanted.map(([name]) => `${name.toUpperCase()}_PORT`).join(', ')})`)
  const taken = []
  for (const [name, port] of wanted) if (!await isFree(port)) taken.push(`port ${port} (${name}) is already taken; free it, or choose another with ${name.toUpperCase()}_PORT=… or --${name}-port`)
  if (taken.length > 0) throw new StackError(taken.join('\n'))
}

const NO_PURGES = Object.freeze({ PURGE_ZONE: undefined, PURGE_URL: undefined, PURGE_TOKEN: undefined, PURGE_TOKEN_FILE: undefined })

/**
 * What the wiki of a stack is told: what is asked, how it works where it stands, and whom it tells of edits.
 * @param {import('./state.js').StackState} state
 * @param {Record<string, string>} asked
 * @param {boolean} [keepsZone]
 * @returns {import('../origin/origin.js').WikiEnvironment}
 */
function wikiSettings (state, asked, keepsZone = false) {
  const { page_reads_at_once: readsAtOnce } = state.profile.asked.origin
  const placed = readsAtOnce === undefined ? {} : { PAGE_READS_AT_ONCE: String(readsAtOnce) }
  return { ...asked, ...placed, ...purgeSettings(state, asked, keepsZone, readConfig().childEnvironment) }
}

/**
 * Under a policy with purges, edits purge the stack's own edge. They purge a zone that the environment names instead
 * only where the wiki is browsed: an experiment never purges a user's zone.
 * @param {import('./state.js').StackState} state
 * @param {Record<string, string>} wikiEnvironment
 * @param {boolean} keepsZone
 * @param {NodeJS.ProcessEnv} inherited
 * @returns {import('../origin/origin.js').WikiEnvironment}
 */
function purgeSettings ({ controls: { edge }, doors }, wikiEnvironment, keepsZone, inherited) {
  if (keepsZone && inherited.PURGE_ZONE !== undefined) return {}
  if (!needsPurges(wikiEnvironment.CACHE_POLICY ?? inherited.CACHE_POLICY ?? '')) return NO_PURGES
  return { ...NO_PURGES, PURGE_ZONE: 'stevec', PURGE_URL: edge.url, PURGE_TOKEN: edge.token, PUBLIC_URL: doors.cached.url }
}

/**
 * @param {import('./state.js').StackState} state
 * @param {string} directory
 */
async function waitForDoors (state, directory) {
  for (const [name, door] of Object.entries(state.doors)) {
    const deaths = () => state.processes.filter((identity) => !isAlive(identity))
    const open = await waitUntil(async () => deaths().length > 0 || answers(`${door.url}/healthz`), READY_TIMEOUT_MS, 50)
    const dead = deaths()[0]
    if (dead) throw new StackError(`${dead.name} ended while the stack was starting:\n${logTail(logOf(directory, dead.name))}`)
    if (!open) throw new StackError(`the door ${name} (${door.url}) does not answer; the logs are in ${directory}`)
  }
}

/** @param {string} url */
async function answers (url) {
  try {
    return (await request(url, { timeoutMs: 2_000 })).status === 200
  } catch {
    return false
  }
}
