import { rmSync } from 'node:fs'
import path from 'node:path'
import { mongodUri } from '@stevec/harness/mongod'
import { needsPurges } from '@stevec/wiki-app/cache-policy'
import { emptyCache } from '../stack/cache.js'
import { flexiblePorts } from '../stack/stack-ports.js'
import { stopStack } from '../stack/stack.js'
import { purgeAndProveCold } from './cold.js'
import { readCounter } from './counter.js'
import { labDatabase } from './database.js'
import { causeFault } from './fault.js'
import { createLabStack } from './lab-stack.js'
import { acquireLock } from './lock.js'
import { createLogs } from './logs.js'
import { createPreparation } from './preparation.js'
import { purgeLogEnd, purgesSince, waitUntilTold } from './purges.js'
import { storesPages } from './storing.js'

/** Of the database (history keeps every edit) and the logs; beyond it the next trial begins on an empty stack. */
const GROWTH_MAX_BYTES = 1_000_000_000

/** @typedef {import('./definition.js').Settings} Settings */

/**
 * The wiki under test: a stack and a database of its own, apart from the wiki of `stevec up`. It outlasts a run, for a
 * study.
 * @param {object} options
 * @param {{stateDirectory: string, imageDirectory: string, mongodbUri?: string, wikiEnvironment: Record<string, string>, ports: Partial<import('../config.js').Ports>}} options.config
 * @param {number} options.seed  of the pages' texts
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {ReturnType<typeof import('../stack/origin/origin.js').originOption>} options.openOrigin  where the wiki runs
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @returns {Promise<Site>}
 * @throws {import('./lock.js').LockedError} when another one is in use
 */
export async function openSite ({ config, seed, profile, openOrigin, signal, progress }) {
  const directory = path.join(config.stateDirectory, 'lab')
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const database = config.mongodbUri === undefined ? null : labDatabase(config.mongodbUri)
  const { ports, moved } = await flexiblePorts(config.ports)
  const wikiUrl = `http://127.0.0.1:${ports.wiki}`
  if (moved) progress.moved()

  // An earlier run may have been killed.
  await stopStack(directory)
  rmSync(directory, { recursive: true, force: true })
  const origin = await openOrigin({ config, stack: 'lab', signal, onProgress: progress.note }).catch((error) => {
    release()
    throw error
  })
  const logs = createLogs(directory, () => origin.fetchLog(directory))
  const stack = createLabStack({ directory, database, ports, origin, profile, signal, progress })
  const preparation = createPreparation({ wikiUrl, seed, emulated: origin.facts.emulated === true, signal, progress })

  /** @param {Settings} settings */
  async function start (settings) {
    const logBytes = Object.values(logs.ends()).reduce((sum, bytes) => sum + bytes, 0)
    preparation.forget(await stack.start(settings, preparation.writtenBytes() + logBytes >= GROWTH_MAX_BYTES))
    return stack.state()
  }

  /**
   * @param {Settings} settings
   * @returns {Promise<boolean>} whether the wiki's queue of purges became empty in time
   */
  const purgesSent = async ({ policy }) =>
    !needsPurges(policy) || await waitUntilTold(database?.uri ?? mongodUri(ports.mongod))

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
      const start = purgeLogEnd(directory)
      return async () => needsPurges(settings.policy)
        ? { told: await purgesSent(settings), ...await purgesSince(directory, start) }
        : null
    },

    /**
     * @param {Settings} settings
     * @throws {Error} when the stack does not start, or the wiki refuses a page
     */
    async prepare (settings) {
      const { doors } = await start(settings)
      if (preparation.isHeavy(settings)) await stack.disengage()
      const warmUpRequests = await preparation.prepare(settings, doors)
      // A purge during the trial would empty caches in its middle.
      if (!await purgesSent(settings)) {
        throw new Error('the wiki could not purge the pages that were written from the edge; see wiki.log of the stack')
      }
      await stack.engage(settings.origin_delay_ms)
      return { doors, warmUpRequests }
    },

    async proveCold (settings) {
      const running = stack.state()
      const door = running.doors[settings.door]
      const emptyOther = () => emptyCache(running, directory)
      return purgeAndProveCold({ door, stores: storesPages(door, settings), controls: running.controls, wikiUrl, emptyOther })
    },

    async causeFault (fault, { generators, begun }) {
      const onKill = () => {
        const pid = origin.nginxPid()
        if (pid !== null) generators.disregard(pid)
      }
      return causeFault({ fault, origin, door: stack.state().doors.source, signal, begun, onKill })
    },

    readCounter: () => readCounter(wikiUrl),

    // A stack of one's own bears any trial.
    async admit () {},

    ended: preparation.ended,

    async close () {
      await stack.stop()
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
 * @property {import('../stack/origin/origin.js').Origin['sample']} [sample]  what the origin is busy with; not where nobody can look
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
