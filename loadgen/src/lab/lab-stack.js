import { rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { isFollowed } from '@stevec/wiki-app/cache-policy'
import { isAlive } from '@stevec/harness/processes'
import { disengageProfile, engageProfile } from '../stack/engage-profile.js'
import { restartWiki, startStack, stopStack } from '../stack/stack.js'
import { hasOwnService } from './settings.js'
import { OPEN_TO_TRIALS, tracingFor, wikiSettingsFor } from './wiki-settings.js'

/** @typedef {import('./definition.js').Settings} Settings */
/** @typedef {import('./database.js').LabDatabase} LabDatabase */
/** @typedef {import('../stack/origin/origin.js').WikiEnvironment} WikiEnvironment */
/** @typedef {import('../stack/state.js').StackState} StackState */

/**
 * A running stack and its settings.
 * @typedef {object} Running
 * @property {StackState} state
 * @property {LabDatabase | null} database  null: its own
 * @property {WikiEnvironment} given  settings of its wiki
 * @property {ReturnType<typeof partsOf>} parts
 * @property {number | null} engagedDelayMs  the origin's delay while the profile is in force, else null
 */

/**
 * What a start did: `stack` began with an empty database, `wiki` only restarted the wiki.
 * @typedef {'nothing' | 'wiki' | 'stack'} Started
 */

/**
 * What only another stack can change.
 * @param {Settings} settings
 */
const partsOf = ({ cache, collapsing, edges, protocol, database, wikis, shared, ...settings }) => ({
  cache,
  collapsing,
  edges,
  protocol,
  database,
  wikis,
  wikiCpuShare: settings.wiki_cpu_share,
  requestsAtOnceMax: settings.requests_at_once ?? undefined,
  shared,
  // Its edges follow the wiki's purge log.
  isFollowed: isFollowed(settings.policy),
  // Of a database with several indexes, each write would keep all of them.
  linkIndex: settings.short_link_index
})

/**
 * @param {WikiEnvironment} given
 * @param {ReturnType<typeof partsOf>} parts
 */
const stackOptions = (given, { collapsing, linkIndex: _, database: __, isFollowed: ___, ...parts }) => ({
  wikiEnvironment: { ...given, ...OPEN_TO_TRIALS },
  edgeOptions: { collapse: collapsing },
  ...parts
})

/**
 * @param {import('../stack/origin/origin.js').Origin} origin
 * @param {import('./traces.js').Traces} traces
 * @returns {(settings: Settings) => Promise<WikiEnvironment>}
 * @throws {Error} when the wiki is on a machine that the collector does not listen to
 */
const wikiSettingsOf = ({ facts }, traces) => async (settings) => {
  if (settings.trace_ratio !== null && facts.kind !== 'local') {
    throw new Error('trace_ratio needs a wiki on this machine, where the collector listens: leave --origin out')
  }
  return { ...wikiSettingsFor(settings), ...tracingFor(settings, await traces.urlFor(settings)) }
}

/**
 * @param {Settings['database']} kind
 * @param {LabDatabase | null} database
 * @returns {Pick<import('../stack/stack.js').StackOptions, 'database' | 'mongodbUri'>}
 */
const placeOf = (kind, database) => kind === 'single' || kind === 'replica-set-3'
  ? { database: kind, mongodbUri: database?.uri }
  : { mongodbUri: database?.uri }

/**
 * Manages the lab's stack: between trials the stack keeps running, its wiki restarts with other settings, or a new
 * stack replaces it.
 * @param {object} options
 * @param {string} options.directory  of the stack
 * @param {ReturnType<typeof import('./database.js').createDatabases>} options.databases  instead of the stack's own
 * @param {import('../config.js').Ports} options.ports
 * @param {import('../stack/origin/origin.js').Origin} options.origin
 * @param {import('./traces.js').Traces} options.traces
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {boolean} [options.links]  see StackOptions
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 */
export function createLabStack ({ directory, databases, ports, origin, traces, profile, links, signal, progress }) {
  const fixed = { directory, ports, origin, profile, links, signal, engage: false, onProgress: progress.part }
  const wikiSettings = wikiSettingsOf(origin, traces)
  /** @type {Running | null} */
  let running = null

  /** @returns {Running} @throws {Error} before the first start */
  function current () {
    if (running === null) throw new Error('no stack of the lab runs')
    return running
  }

  async function stop () {
    await stopStack(directory)
    rmSync(directory, { recursive: true, force: true })
    running = null
  }

  async function disengage () {
    const stack = current()
    if (stack.engagedDelayMs !== null) await disengageProfile(stack.state)
    stack.engagedDelayMs = null
  }

  /**
   * @param {Settings} settings
   * @param {boolean} isFull  whether earlier trials left too much in the database and the logs
   */
  const fits = (settings, isFull) => running !== null && !isFull &&
    running.state.processes.every(isAlive) && isDeepStrictEqual(running.parts, partsOf(settings))

  async function renew () {
    const { database } = current()
    await stop()
    await database?.drop()
  }

  /** @param {Settings} settings */
  async function startNew (settings) {
    if (running !== null) await renew()
    const [given, parts] = [await wikiSettings(settings), partsOf(settings)]
    const database = await databases.use(settings.database)
    const place = placeOf(settings.database, database)
    const state = await startStack({ ...fixed, ...stackOptions(given, parts), ...place })
    running = { state, database, given, parts, engagedDelayMs: null }
    progress.doors(state.doors)
  }

  return {
    isRunning: () => running !== null,
    state: () => current().state,
    stop,
    renew,
    disengage,

    /**
     * Provides the stack for a trial.
     * @param {Settings} settings
     * @param {boolean} isFull
     * @returns {Promise<Started>}
     */
    async start (settings, isFull) {
      if (!fits(settings, isFull)) {
        await startNew(settings)
        return 'stack'
      }
      const stack = current()
      const given = await wikiSettings(settings)
      // These trials go past the wiki: whichever runs stays as it is.
      if (hasOwnService(settings) || isDeepStrictEqual(stack.given, given)) return 'nothing'
      await disengage()
      await restartWiki(stack.state, origin, { ...given, ...OPEN_TO_TRIALS })
      stack.given = given
      return 'wiki'
    },

    /**
     * Puts the profile in force.
     * @param {number} originDelayMs  added to each response of the origin
     */
    async engage (originDelayMs) {
      const stack = current()
      if (stack.engagedDelayMs !== originDelayMs) await engageProfile(stack.state, originDelayMs)
      stack.engagedDelayMs = originDelayMs
    }
  }
}
