import { rmSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { needsPurges } from '../../../wiki-app/src/cache-policy.js'
import { disengageProfile, engageProfile } from '../profile/apply.js'
import { emptyCache } from '../stack/cache.js'
import { request } from '../stack/doors.js'
import { mongodUri } from '../stack/mongod.js'
import { isAlive } from '../stack/processes.js'
import { flexiblePorts, restartWiki, startStack, stopStack } from '../stack/stack.js'
import { PROBE_PAGE, PROBE_TEXT, purgeAndProveCold } from './cold.js'
import { readCounter } from './counter.js'
import { labDatabase } from './database.js'
import { causeFault } from './fault.js'
import { acquireLock } from './lock.js'
import { createLogs } from './logs.js'
import { createPageSizes } from './page-sizes.js'
import { WRITE_TIMEOUT_MS, writePages } from './pages.js'
import { purgeLogEnd, purgesSince, waitUntilTold } from './purges.js'
import { storesPages } from './storing.js'
import { openConnections, warmUp } from './warm-up.js'

/** What trials wrote into the database (history keeps every edit) and the logs; beyond it the next trial begins on an empty stack. */
const GROWTH_MAX_BYTES = 1_000_000_000

/** Shorter than nginx keeps what nobody uses (keepalive_timeout in nginx/templates/origin.eta). */
const CONNECTIONS_KEPT_MS = 540_000
/** Their connections are opened in no time. */
const FEW_CLIENTS = 16

/** Of an emulated CPU nobody reads a time, and each takes it up to a second. */
const EMULATED_WARM_UP_REQUESTS = 300

/** What the wiki is told of caching for such a trial. @param {import('./definition.js').Settings} settings */
export const cachingFor = (settings) => ({
  CACHE_POLICY: settings.policy,
  CACHE_TTL_S: String(settings.ttl_s),
  CACHE_STALE_WHILE_REVALIDATE_S: String(settings.stale_while_revalidate_s),
  CACHE_STALE_IF_ERROR_S: String(settings.stale_if_error_s),
  ORIGIN_CACHE_MIB: String(settings.origin_cache_mib),
  // Nothing is on its way for longer here, and a trial need not wait for the default's ten seconds.
  PURGE_REPEAT_AFTER_S: '1'
})
/**
 * What would turn requests away: trials write their pages without a name, and all from one address, and the experiments on overload ask how long whoever waits
 * has to, so everybody is answered, however late (docs/decisions/0016).
 */
export const OPEN_TO_TRIALS = Object.freeze({ ACCESS: 'open', WRITES_PER_MINUTE: '0', QUEUE_WAIT_MAX_MS: '0' })

/** @param {import('./definition.js').Settings} settings */
const atDoorCached = ({ cache, collapsing }) => ({ cache, collapsing })

/**
 * The wiki under test: a stack and a database of its own, so that a wiki that someone uses is neither measured nor written to. It outlasts a run, for a study.
 * @param {object} options
 * @param {{stateDirectory: string, imageDirectory: string, mongodbUri?: string, wikiEnvironment: Record<string, string>, ports: Partial<import('../config.js').Ports>}} options.config
 * @param {number} options.seed  of what pages say
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {ReturnType<typeof import('../origin/origin.js').originOption>} options.openOrigin  where the wiki runs
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @returns {Promise<Site>}
 * @throws {import('./lock.js').LockedError} when another one is in use
 */
export async function openSite ({ config, seed, profile, openOrigin, signal, progress }) {
  const stackDirectory = path.join(config.stateDirectory, 'lab')
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const database = config.mongodbUri === undefined ? null : labDatabase(config.mongodbUri)
  const { ports, moved } = await flexiblePorts(config.ports)
  const wikiUrl = `http://127.0.0.1:${ports.wiki}`
  if (moved) progress.moved()

  /** @type {import('../stack/state.js').StackState | null} */
  let stack = null
  /** How the wiki that runs was told to be cached. @type {Record<string, string>} */
  let caching = {}
  let warmUpRequests = 0
  /** Between the origin's nginx and the wiki, and for how long they last. */
  let connections = 0
  let connectedUntilMs = 0
  let writtenBytes = 0
  /** Whether the profile is in force: what prepares a trial is done at full speed. */
  let engaged = false
  /** By how much the origin's answers are late while it is. */
  let originDelayMs = 0
  /** What stands at the door `cached`. @type {ReturnType<typeof atDoorCached>} */
  let atCached = { cache: 'edge', collapsing: true }
  const logs = createLogs(stackDirectory, () => origin.fetchLog(stackDirectory))
  const sizes = createPageSizes(seed)

  const stop = async () => {
    await stopStack(stackDirectory)
    rmSync(stackDirectory, { recursive: true, force: true })
    stack = null
  }
  const isWell = () => stack !== null && stack.processes.every(isAlive)
  const grownBytes = () => writtenBytes + Object.values(logs.ends()).reduce((sum, bytes) => sum + bytes, 0)

  /** @param {import('../stack/state.js').StackState} ready */
  async function disengage (ready) {
    if (engaged) await disengageProfile(ready)
    engaged = false
  }

  /**
   * Waits until the wiki has told its caches of every edit.
   * @param {import('./definition.js').Settings} settings
   * @returns {Promise<boolean>} false: it has not, in time
   */
  const told = async ({ policy }) => !needsPurges(policy) || await waitUntilTold(database?.uri ?? mongodUri(ports.mongod))

  /**
   * The stack for such a trial: the one that runs, or a new one with an empty database.
   * @param {import('./definition.js').Settings} settings
   * @returns {Promise<import('../stack/state.js').StackState>}
   */
  async function start (settings) {
    const wanted = cachingFor(settings)
    if (stack !== null && isWell() && isDeepStrictEqual(atCached, atDoorCached(settings)) && grownBytes() < GROWTH_MAX_BYTES) {
      if (isDeepStrictEqual(caching, wanted)) return stack
      await disengage(stack)
      await restartWiki(stack, origin, { ...wanted, ...OPEN_TO_TRIALS })
      caching = wanted
      warmUpRequests = 0
      connections = 0
      return stack
    }
    if (stack !== null) {
      await stop()
      await database?.drop()
    }
    sizes.clear()
    writtenBytes = 0
    warmUpRequests = 0
    connections = 0
    caching = wanted
    atCached = atDoorCached(settings)
    engaged = false
    stack = await startStack({
      directory: stackDirectory,
      mongodbUri: database?.uri,
      ports,
      origin,
      wikiEnvironment: { ...caching, ...OPEN_TO_TRIALS },
      edgeOptions: { collapse: atCached.collapsing },
      cache: atCached.cache,
      profile,
      engage: false,
      signal,
      onProgress: progress.part
    })
    progress.doors(stack.doors)
    return stack
  }

  await stop()
  const origin = await openOrigin({ config, stack: 'lab', signal, onProgress: progress.note }).catch((error) => {
    release()
    throw error
  })
  return {
    // A stack can be made anew anywhere.
    identity: {},
    facts: { target: null, origin: origin.facts },
    logs,
    // The emulated edge names one and the same.
    hasPops: false,
    start,
    sample: origin.sample,

    watchPurges (settings) {
      const start = purgeLogEnd(stackDirectory)
      return async () => needsPurges(settings.policy) ? { told: await told(settings), ...await purgesSince(stackDirectory, start) } : null
    },

    /**
     * @param {import('./definition.js').Settings} settings
     * @throws {Error} when the stack does not start, or the wiki refuses a page
     */
    async prepare (settings) {
      const ready = await start(settings)
      const missing = sizes.missing(settings)
      const clients = settings.vus + settings.background_vus
      const opening = clients > connections || (clients > FEW_CLIENTS && performance.now() > connectedUntilMs)
      if (missing.length > 0 || opening) await disengage(ready)
      await writePages({ wikiUrl, seed, pages: missing, signal, onProgress: progress.writing })
      sizes.wrote(missing)
      // What a new stack begins with is not what trials added to it.
      if (warmUpRequests > 0) for (const { sizeChars } of missing) writtenBytes += sizeChars
      if (warmUpRequests === 0) {
        await request(`${wikiUrl}/wiki/${PROBE_PAGE}`, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: PROBE_TEXT, timeoutMs: WRITE_TIMEOUT_MS })
        warmUpRequests = await warmUp({ door: ready.doors.nocache, pages: settings.pages, requests: origin.facts.emulated ? EMULATED_WARM_UP_REQUESTS : undefined, signal })
        progress.ready(missing.length, warmUpRequests)
      }
      if (opening) {
        await openConnections({ door: ready.doors.source, connections: clients, signal })
        connections = clients
        connectedUntilMs = performance.now() + CONNECTIONS_KEPT_MS
      }
      // What is told later would empty caches in the middle of the trial.
      if (!await told(settings)) throw new Error('the wiki could not tell the edge of the pages that were written; see wiki.log of the stack')
      if (!engaged || originDelayMs !== settings.origin_delay_ms) await engageProfile(ready, settings.origin_delay_ms)
      engaged = true
      originDelayMs = settings.origin_delay_ms
      return { doors: ready.doors, warmUpRequests }
    },

    async proveCold (settings) {
      const running = /** @type {import('../stack/state.js').StackState} */ (stack)
      const door = running.doors[settings.door]
      return purgeAndProveCold({ door, stores: storesPages(door, settings), controls: running.controls, wikiUrl, emptyOther: () => emptyCache(running, stackDirectory) })
    },

    async causeFault (fault, { generators, begun }) {
      const running = /** @type {import('../stack/state.js').StackState} */ (stack)
      const onKill = () => {
        const pid = origin.nginxPid()
        if (pid !== null) generators.disregard(pid)
      }
      return causeFault({ fault, origin, door: running.doors.source, signal, begun, onKill })
    },

    readCounter: () => readCounter(wikiUrl),

    // A stack of one's own bears any trial.
    async admit () {},

    ended (trial) {
      writtenBytes += sizes.edited(trial)
    },

    async close () {
      await stop()
      await origin.close()
      await database?.drop().catch((error) => progress.warn(`the run's database could not be dropped: ${error.message}`))
      release()
      progress.stopped()
    }
  }
}

/** @typedef {Record<import('../stack/doors.js').DoorName, import('../stack/doors.js').Door>} Doors */

/**
 * What a run measures: a stack of the lab's own, as above, or somebody's wiki behind a zone (`../cloudflare/zone-site.js`).
 * @typedef {object} Site
 * @property {Record<string, unknown>} identity  what of a manifest must be as it was when its run is gone on with
 * @property {Record<string, unknown>} facts  what more the manifest of a run has
 * @property {import('./logs.js').Logs} logs
 * @property {import('../origin/origin.js').Origin['sample']} [sample]  what the origin is busy with; not where nobody can look
 * @property {boolean} hasPops  whether answers tell which of many points of presence gave them
 * @property {(settings: import('./definition.js').Settings) => Promise<{doors: Doors, config_hashes: Record<string, string>}>} start  for such a trial
 * @property {(settings: import('./definition.js').Settings) => Promise<{doors: Doors, warmUpRequests: number}>} prepare  makes it what such a trial begins with: its pages are there at their sizes, and the wiki is warm
 * @property {(settings: import('./definition.js').Settings) => Promise<import('./cold.js').ColdProof>} proveCold  empties the caches and proves it at the trial's door; leaves the counter at 0
 * @property {(settings: import('./definition.js').Settings) => () => Promise<(import('./purges.js').Purges & {told: boolean}) | null>} watchPurges  what the wiki tells the caches from now on; to be asked after the trial, waits until all is told. null: nothing, or nobody can know
 * @property {(fault: NonNullable<import('./definition.js').Settings['fault']>, during: {generators: import('./generator.js').Generators, begun: () => Promise<boolean>}) => Promise<import('./fault.js').FaultTimes>} causeFault  `begun`: whether a request of the trial was answered
 * @property {() => Promise<import('./counter.js').Counter>} readCounter  and sets it to 0
 * @property {(trial: import('./matrix.js').PlannedTrial) => Promise<void>} admit  when the trial may begin; throws when it may not
 * @property {(trial: import('./matrix.js').PlannedTrial, requestsSent: number) => void} ended  to be told of each trial
 * @property {() => Promise<void>} close
 */
