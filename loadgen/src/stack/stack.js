import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { removeGroups } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { releasePorts } from '@stevec/harness/ports'
import { isAlive, killRemains, stopProcess } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { startToxiproxy } from '@stevec/harness/toxiproxy'
import { stopKeeper } from '../keeper/keeper-lock.js'
import { removeRecipes, saveRecipe } from '../keeper/recipes.js'
import { loadProfile } from '../profile/profile.js'
import { removeCache, startCache } from './cache.js'
import { tlsOf } from './certificate.js'
import { NODES, startDatabase } from './database.js'
import { EDGE_NAMES } from './edge-names.js'
import { engageProfile } from './engage-profile.js'
import { waitForDoors } from './health.js'
import { linksOf, planStack } from './layout.js'
import { createLocalOrigin } from './origin/local.js'
import { restoreOrigin } from './origin/remote.js'
import { edgeOptionsOf, startProxies } from './proxies.js'
import { startShared } from './shared.js'
import { StackError } from './stack-error.js'
import { refuseTakenPorts } from './stack-ports.js'
import { logOf, readState, removeState, writeState } from './state.js'
import { wikiEnvironmentOf } from './wiki-environment.js'
import { limitWikis } from './wiki-limits.js'

/** @typedef {import('./state.js').StackState} StackState */

/**
 * @typedef {object} StackOptions
 * @property {string} directory  of the stack: state, logs, caches, and the database unless `databaseDirectory` is set
 * @property {string} [databaseDirectory]  for a database that outlives the stack
 * @property {string} [mongodbUri]  the user's database instead of our own mongod
 * @property {import('./database.js').DatabaseKind} [database]  of our own; default: a single mongod
 * @property {import('../config.js').Ports} ports
 * @property {import('./origin/origin.js').Origin} [origin]  where the wiki and its nginx run; default: this machine
 * @property {boolean} [outlive]  whether the stack keeps running when this process ends
 * @property {import('./origin/origin.js').WikiEnvironment} [wikiEnvironment]  settings of the wiki, e.g. CACHE_TTL_S
 * @property {number} [tracesPort]  of this machine: the wikis trace the requests that ask for it, and send there
 * @property {boolean} [keepsZone]  whether edits purge the zone in PURGE_ZONE instead of the stack's own edge
 * @property {number} [requestsAtOnceMax]  requests in flight from the origin's nginx to the wiki; default: any number
 * @property {import('@stevec/nginx').EdgeOptions} [edgeOptions]
 * @property {import('./cache.js').CacheName} [cache]  at the door `cached`; default: our edge
 * @property {import('./shared.js').Shared} [shared]  redis, redis-replicated: a Redis beside the database, for the
 *   wiki; none: no Redis, whatever the environment says; default: the environment's REDIS_URL
 * @property {number} [edges]  each with a cache of its own; default 1
 * @property {import('./certificate.js').Protocol} [protocol]  of the doors' clients, while the hops behind
 *   speak plain HTTP; default http
 * @property {number} [wikis]  behind the origin's nginx, on this machine; default 1
 * @property {number | null} [wikiCpuShare]  of one core, for each wiki; default null: no limit of its own
 * @property {import('../profile/profile.js').Profile} [profile]  limits and links of origin and client; default: `none`
 * @property {boolean} [links]  true: links stand between the hops, whatever the profile says. They do in any case if
 *   the profile slows one of them, or if the origin is another machine: its door is a port of this one
 * @property {boolean} [engage]  false: everything runs at full speed until `engageProfile`
 * @property {AbortSignal} [signal]  checked between two parts; an abort stops what was started
 * @property {(part: string) => void} [onProgress]
 */

/**
 * @typedef {object} Starting
 * @property {string} directory
 * @property {boolean} outlive
 * @property {(identity: import('@stevec/harness/processes').ProcessIdentity & {recipe?:
 *   import('@stevec/harness/processes').Recipe}) => void} started
 * @property {(part: string) => void} next
 */

/**
 * Starts mongod, the origin, the other two nginx roles and, if needed, the links between them, and waits until every
 * door answers.
 * On any failure, stops what it has started.
 * @param {StackOptions} options
 * @returns {Promise<StackState>}
 * @throws {StackError} when a port is taken, a tool is missing or a part does not come up
 */
export async function startStack (options) {
  const {
    directory,
    mongodbUri,
    ports,
    origin = createLocalOrigin(),
    outlive = false,
    wikiEnvironment = {},
    cache = 'edge',
    database = 'single',
    protocol = 'http',
    wikis = 1,
    wikiCpuShare = null,
    profile = loadProfile('none', { stateDirectory: directory }),
    signal,
    onProgress = () => {}
  } = options
  const links = hasLinks({ links: options.links, profile, origin })
  refuseContradiction({ origin, wikis, wikiCpuShare, mongodbUri, database, protocol })
  requireTool('nginx')
  await refuseTakenPorts(ports, mongodbUri === undefined)
  prepareFolder(directory)
  const tls = await tlsOf(protocol, directory)
  const { state, internal, edges } = await planStack({
    ...{ ports, cache, profile, links, wikis, databaseNodes: NODES[database], edges: options.edges ?? 1 },
    ...{ shared: options.shared ?? 'none', origin: origin.record(), caFile: tls?.certificate },
    ...{ cachePolicy: wikiEnvironment.CACHE_POLICY ?? null, tracesPort: options.tracesPort }
  })
  /** @type {Starting} */
  const starting = {
    directory,
    outlive,
    started: (identity) => record(state, directory, identity, outlive),
    next (part) {
      signal?.throwIfAborted()
      onProgress(part)
    }
  }
  try {
    limitOrigin(state, directory)
    if (wikiCpuShare !== null) limitWikis(state, directory, wikiCpuShare)
    const uri = mongodbUri ?? await startDatabase(state, starting, options.databaseDirectory ?? directory)
    await startShared(state, starting, options.shared)
    const address = await startOrigin(state, starting, { ...options, origin, wikiEnvironment, tls }, internal, uri)
    await startProxies(state, starting, internal, edges, edgeOptionsOf(options), tls)
    if (state.cache) {
      starting.next(cache)
      state.config_hashes[`cache/${cache}`] = await startCache(state.cache, directory, starting.started)
    }
    if (links) await startLinks(state, linksOf(state, internal, edges, address), internal.toxiproxy, starting)
    starting.next('doors')
    await waitForDoors(state, directory)
    if (options.engage ?? true) await engageProfile(state)
    signal?.throwIfAborted()
    return state
  } catch (error) {
    await stopStack(directory)
    // An interrupt before the first part leaves no state to stop.
    await releasePorts(state.reserved_ports ?? [])
    throw error
  }
}

/**
 * Creates the folder of a stack, without what nginx left of an earlier one.
 * @param {string} directory
 */
function prepareFolder (directory) {
  for (const role of ['origin', ...EDGE_NAMES, 'local', 'tls']) {
    rmSync(path.join(directory, role), { recursive: true, force: true })
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
}

/**
 * @param {StackState} state
 * @param {import('@stevec/harness/toxiproxy').Link[]} links
 * @param {number} port  of toxiproxy's API
 * @param {Starting} starting
 */
async function startLinks (state, links, port, { directory, outlive, started, next }) {
  next('links')
  state.links = links
  await startToxiproxy({ links, port, logFile: logOf(directory, 'toxiproxy'), outlive, onStart: started })
}

/**
 * @param {Pick<StackOptions, 'mongodbUri'> &
 *   Required<Pick<StackOptions, 'origin' | 'wikis' | 'wikiCpuShare' | 'database' | 'protocol'>>} options
 * @throws {StackError}
 */
function refuseContradiction ({ origin, wikis, wikiCpuShare, mongodbUri, database, protocol }) {
  if (origin.facts.kind !== 'local' && protocol !== 'http') {
    throw new StackError(`protocol=${protocol} needs the nginx of a wiki on this machine: leave --origin out`)
  }
  if (origin.facts.kind !== 'local' && (wikis > 1 || wikiCpuShare !== null)) {
    throw new StackError('several wikis, or wikis with a share of a core, run on this machine only: leave --origin out')
  }
  if (mongodbUri !== undefined && database !== 'single') {
    throw new StackError(`database=${database} is a database of the stack's own: leave MONGODB_URI out`)
  }
}

/**
 * @param {Pick<StackOptions, 'links'> & Required<Pick<StackOptions, 'profile' | 'origin'>>} options
 * @returns {boolean} whether links stand between the hops of such a stack
 */
export const hasLinks = ({ links, profile, origin }) =>
  links === true || profile.applied.links || origin.facts.kind !== 'local'

/**
 * Records a process at once, so that a later command can clean up an interrupted start. A restarted process replaces
 * its former entry.
 * @param {StackState} state
 * @param {string} directory
 * @param {Parameters<Starting['started']>[0]} identity
 * @param {boolean} outlive  a keeper may have to start it again
 */
function record (state, directory, { name, pid, start_ticks: startTicks, recipe }, outlive) {
  const former = state.processes.findIndex((identity) => identity.name === name)
  if (outlive) saveRecipe(directory, { name, recipe })
  state.processes[former === -1 ? state.processes.length : former] = { name, pid, start_ticks: startTicks }
  writeState(directory, state)
}

/**
 * @param {StackState} state
 * @param {string} directory
 * @throws {StackError} when a limit that was available to the profile no longer is
 */
function limitOrigin (state, directory) {
  const { profile } = state
  state.limits = createLimits(profile.asked.origin, (directories) => {
    state.cgroups = directories
    writeState(directory, state)
  })
  const { controllers, missing } = state.limits
  const lost = /** @type {const} */ (['cpu', 'memory']).find((name) => profile.applied[name] && !controllers[name])
  if (lost) throw new StackError(`the profile ${profile.name} cannot be applied any more: ${missing[lost]}`)
}

/**
 * Starts the wiki and its nginx.
 * @param {StackState} state
 * @param {Starting} starting
 * @param {StackOptions & Required<Pick<StackOptions, 'origin' | 'wikiEnvironment'>> & {
 *   tls?: import('@stevec/nginx').Tls}} options
 * @param {import('./layout.js').InternalPorts} internal
 * @param {string} mongodbUri
 * @returns {Promise<string>} host:port of the origin's nginx
 */
async function startOrigin (state, starting, options, internal, mongodbUri) {
  const { directory, outlive, started, next } = starting
  const { origin, wikiEnvironment, keepsZone = !wikiEnvironment.CACHE_POLICY, requestsAtOnceMax, tls, signal } = options
  const { address, configHash } = await origin.start({
    directory,
    mongodbUri,
    wikiPorts: state.wiki_ports ?? [state.ports.wiki],
    nginxPort: internal.nginx,
    tls: tls && { ...tls, port: internal.nginxTls },
    purgePorts: EDGE_NAMES.flatMap((name) =>
      state.controls[name] === undefined ? [] : Number(new URL(state.controls[name].url).port)),
    wikiEnvironment: wikiEnvironmentOf(state, wikiEnvironment, keepsZone),
    requestsAtOnceMax,
    outlive,
    cgroups: state.limits.directories,
    wikiCgroups: state.wiki_limits?.groups.map(({ directories }) => directories),
    signal,
    onStart: started,
    onPart: next
  })
  if (configHash !== null) state.config_hashes['nginx/origin'] = configHash
  return address
}

/**
 * Restarts the wikis of a running stack with other settings; its database and the caches keep running.
 * @param {import('./state.js').StackState} state
 * @param {import('./origin/origin.js').Origin} origin  that the stack was started with
 * @param {import('./origin/origin.js').WikiEnvironment} wikiEnvironment
 * @throws {Error} when it does not become ready
 */
export async function restartWiki (state, origin, wikiEnvironment) {
  await origin.restartWiki(wikiEnvironmentOf(state, wikiEnvironment))
}

/**
 * Stops a stack's processes, the last started first, and removes its state. Does nothing without a stack.
 * @param {string} directory
 * @returns {Promise<string[]>} names of the stopped processes
 */
export async function stopStack (directory) {
  if (readState(directory) === null) return []
  // First, and until the end: it would start again what is stopped here.
  const release = await stopKeeper(directory)
  try {
    return await stopProcesses(directory)
  } finally {
    release()
  }
}

/** @param {string} directory  of a stack without a keeper */
async function stopProcesses (directory) {
  const state = readState(directory)
  if (state === null) return []
  const stopped = []
  // The settings there are in memory, and the next stack replaces them: an unreachable origin needs no wait.
  if (state.origin?.ssh) await restoreOrigin(state.origin.ssh).catch(() => {})
  for (const identity of [...state.processes].reverse()) {
    if (isAlive(identity)) stopped.push(identity.name)
    await stopProcess(identity)
    await killRemains(identity)
  }
  removeRecipes(directory)
  await releasePorts(state.reserved_ports ?? [])
  if (state.cache) removeCache(state.cache)
  const left = await removeGroups(state.cgroups ?? [])
  // Stays recorded, so that the next start or stop tries again.
  if (left.length > 0) writeState(directory, { ...state, processes: [], cgroups: left })
  else removeState(directory)
  return stopped
}
