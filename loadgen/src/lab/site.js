import { rmSync } from 'node:fs'
import path from 'node:path'
import { mongodUri } from '@stevec/harness/mongod'
import { replicaSetUri } from '@stevec/harness/replica-set'
import { needsPurges } from '@stevec/wiki-app/cache-policy'
import { readSaving } from '../saves/waiting.js'
import { addressesOf } from '../../scenarios/crawl-addresses.js'
import { emptyCache } from '../stack/cache.js'
import { forgetShortLinks } from '../stack/shared.js'
import { flexiblePorts } from '../stack/stack-ports.js'
import { stackProcesses } from '../stack/stack-processes.js'
import { hasLinks, stopStack } from '../stack/stack.js'
import { missingForWikiShares } from '../stack/wiki-limits.js'
import { purgeAndProveCold } from './cold.js'
import { readCounters } from './counter.js'
import { createDatabases } from './database.js'
import { GROWTH_MAX_BYTES } from './disk.js'
import { measureCapacity } from './crawl-capacity.js'
import { causeFault } from './fault.js'
import { createLabStack } from './lab-stack.js'
import { createLogs } from './logs.js'
import { uploadPicture } from './picture.js'
import { createPreparation } from './preparation.js'
import { purgeLogEnds, purgesSince, waitUntilPurged } from './purges.js'
import { hasOwnService } from './settings.js'
import { lifetimeOf, storesPages } from './storing.js'
import { createTraces } from './traces.js'
import { warmCache } from './warm-cache.js'
import { readTotals } from './wiki-totals.js'

/** @typedef {import('./definition.js').Settings} Settings */

/**
 * Opens the lab's own wiki under test: a stack and a database apart from the wiki of `stevec up`. A study uses one site
 * for all its runs. The caller holds the machine's lock.
 * @param {object} options
 * @param {{stateDirectory: string, imageDirectory: string, mongodbUri?: string,
 *   uriOf: import('./database.js').UriOf, wikiEnvironment: Record<string, string>,
 *   ports: Partial<import('../config.js').Ports>}} options.config
 * @param {number} options.seed  of the pages' texts
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {boolean} [options.links]  see StackOptions
 * @param {ReturnType<typeof import('../stack/origin/origin.js').originOption>} options.openOrigin  where the wiki runs
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @returns {Promise<Site>}
 */
export async function openSite ({ config, seed, profile, links, openOrigin, signal, progress }) {
  const directory = path.join(config.stateDirectory, 'lab')
  const databases = createDatabases(config)
  await databases.use('single')
  const { ports, moved } = await flexiblePorts(config.ports)
  if (moved) progress.moved()

  // A killed earlier run may have left a stack.
  await stopStack(directory)
  rmSync(directory, { recursive: true, force: true })
  const origin = await openOrigin({ config, stack: 'lab', signal, onProgress: progress.note })
  const traces = createTraces()
  const stack = createLabStack({ directory, databases, ports, origin, traces, profile, links, signal, progress })
  const preparation = createPreparation({ seed, emulated: origin.facts.emulated === true, signal, progress })
  const processes = () => [
    ...stack.isRunning() ? [...stackProcesses(stack.state()), ...origin.processes?.() ?? []] : [],
    ...databases.processes()
  ]
  const site = createStackSite({
    directory,
    databaseUri: () => databases.uri() ?? ownUri(stack.state()),
    processes,
    origin,
    profile,
    stack,
    traces,
    preparation,
    signal
  })
  return {
    ...site,
    links: hasLinks({ links, profile, origin }),
    async close () {
      await stack.stop()
      await traces.stop()
      await origin.close()
      await databases.drop()
        .catch((error) => progress.warn(`a database of the run could not be dropped: ${error.message}`))
      progress.stopped()
    }
  }
}

/**
 * @param {object} options
 * @param {string} options.directory  of the stack
 * @param {() => string} options.databaseUri  of the running stack
 * @param {Site['processes']} options.processes
 * @param {import('../stack/origin/origin.js').Origin} options.origin
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {ReturnType<typeof createLabStack>} options.stack
 * @param {import('./traces.js').Traces} options.traces
 * @param {ReturnType<typeof createPreparation>} options.preparation
 * @param {AbortSignal} options.signal
 * @returns {Omit<Site, 'close' | 'links'>}
 */
function createStackSite ({
  directory, databaseUri, processes, origin, profile, stack, traces, preparation, signal
}) {
  const logs = createLogs(directory, () => origin.fetchLog(directory))
  const wikiUrls = () => wikiUrlsOf(stack.state())

  /** @param {Settings} settings */
  async function start (settings) {
    const logBytes = Object.values(logs.ends()).reduce((sum, bytes) => sum + bytes, 0)
    preparation.forget(await stack.start(settings, preparation.writtenBytes() + logBytes >= GROWTH_MAX_BYTES))
    return stack.state()
  }

  const purgesSent = (/** @type {Settings} */ settings) => arePurgesSent(settings, databaseUri())

  return {
    // Any new stack can continue a run.
    identity: {},

    async renew () {
      if (!stack.isRunning()) return
      await stack.renew()
      preparation.forget('stack')
    },

    facts: { target: null, origin: origin.facts, wiki_shares_missing: missingForWikiShares() },
    ...{ logs, databaseUri, start, processes, sample: origin.sample, watchTraces: traces.watch },
    hasPops: ({ edges }) => edges > 1,
    quotaCores: profile.applied.cpu ? profile.asked.origin.cpu_share : null,

    watchPurges (settings) {
      const starts = purgeLogEnds(directory)
      return async () => needsPurges(settings.policy)
        ? { told: await purgesSent(settings), ...await purgesSince(directory, starts) }
        : null
    },

    /**
     * @param {Settings} settings
     * @param {string} mark
     * @throws {Error} when the stack does not start, or the wiki refuses a page
     */
    async prepare (settings, mark) {
      const { doors } = await start(settings)
      if (hasOwnService(settings)) return { doors, warmUp: null }
      if (preparation.isHeavy(settings)) await stack.disengage()
      const warmUp = await preparation.prepare(settings, doors, wikiUrls(), mark)
      if (settings.short_link_reads === 'redis') await forgetShortLinks(stack.state())
      const pictureMarkdown = settings.picture ? await uploadPicture(wikiUrls()[0]) : null
      // A purge during the trial would empty the caches in the middle of it.
      if (!await purgesSent(settings)) {
        throw new Error('the wiki could not purge the written pages from the edge; wiki.log in the stack\'s folder says why')
      }
      await stack.engage(settings.origin_delay_ms)
      return { doors, warmUp, pictureMarkdown }
    },

    async proveCold (settings) {
      const running = stack.state()
      const door = running.doors[settings.door]
      return purgeAndProveCold({
        door,
        resource: settings.resource,
        stores: storesPages(door, settings),
        controls: running.controls,
        wikiUrls: wikiUrls(),
        emptyOther: () => emptyCache(running, directory),
        warmCache: (to) => warmCache({ ...to, resource: settings.resource, lifetimeS: lifetimeOf(settings), signal })
      })
    },

    ...{ causeFault: faultsOf({ origin, stack, signal }), measureCrawlCapacity: crawlCapacityOf({ stack, signal }) },

    ...askersOf(wikiUrls),
    // The lab's own stack accepts any trial.
    async admit () {},

    ended: preparation.ended
  }
}

/** @param {() => string[]} wikiUrls @returns {Pick<Site, 'readCounter' | 'readTotals' | 'readSaving'>} */
const askersOf = (wikiUrls) => ({
  readCounter: () => readCounters(wikiUrls()),
  readTotals: () => readTotals(wikiUrls()),
  readSaving: () => readSaving(wikiUrls())
})

/**
 * @param {Settings} settings
 * @param {string} mongodbUri
 * @returns {Promise<boolean>} whether the wiki's queue of purges became empty in time
 */
const arePurgesSent = async ({ policy }, mongodbUri) => !needsPurges(policy) || await waitUntilPurged(mongodbUri)

/**
 * @param {import('../stack/state.js').StackState} state
 * @returns {string} of the stack's own database: of its primary, whichever mongod that is
 */
const ownUri = ({ ports, database_ports: nodes = [ports.mongod] }) =>
  nodes.length === 1 ? mongodUri(nodes[0]) : replicaSetUri(nodes)

/**
 * @param {import('../stack/state.js').StackState} state
 * @returns {string[]} of the wikis themselves, past every cache and the origin's nginx
 */
const wikiUrlsOf = ({ ports, wiki_ports: wikiPorts = [ports.wiki] }) =>
  wikiPorts.map((port) => `http://127.0.0.1:${port}`)

/**
 * @param {Pick<Parameters<typeof createStackSite>[0], 'origin' | 'stack' | 'signal'>} parts
 * @returns {Site['causeFault']}
 */
const faultsOf = ({ origin, stack, signal }) => async (fault, { generators, hasResponse }) => {
  const onKill = () => {
    const pid = origin.nginxPid()
    if (pid !== null) generators.disregard(pid)
  }
  const { doors, links_api: linksApi } = stack.state()
  return causeFault({ fault, origin, door: doors.source, linksApi, signal, hasResponse, onKill })
}

/**
 * @param {Pick<Parameters<typeof createStackSite>[0], 'stack' | 'signal'>} parts
 * @returns {Site['measureCrawlCapacity']}
 */
const crawlCapacityOf = ({ stack, signal }) => async (settings) => {
  await stack.disengage()
  return measureCapacity({
    ...{ url: stack.state().doors.source.url, addresses: addressesOf('stevec', settings, 0), size: settings, signal },
    slow: () => stack.engage(settings.origin_delay_ms)
  })
}

/** @typedef {Record<import('../stack/doors.js').DoorName, import('../stack/doors.js').Door>} Doors */

/**
 * What a run measures: the lab's own stack, as above, or a user's wiki behind a zone (`../cloudflare/zone-site.js`).
 * @typedef {object} Site
 * @property {Record<string, unknown>} identity  manifest fields that must be unchanged when a run resumes
 * @property {Record<string, unknown> & {origin?: import('../stack/origin/origin.js').OriginFacts}} facts
 *   more manifest fields
 * @property {import('./logs.js').Logs} logs
 * @property {() => string} [databaseUri]  of the running stack; absent where the database is somebody else's
 * @property {import('../stack/origin/origin.js').Origin['sample']} [sample]  samples the origin's load, if possible
 * @property {() => import('../machine/reading.js').WatchedProcess[]} processes  of this machine that serve requests
 * @property {number | null} quotaCores  that the origin's processes may use together; null: no limit
 * @property {boolean} links  whether links stand between the hops
 * @property {(settings: import('./definition.js').Settings) => boolean} hasPops  whether responses name one of several
 *   points of presence
 * @property {(settings: import('./definition.js').Settings) =>
 *   Promise<{doors: Doors, config_hashes: Record<string, string>}>} start  for a trial with these settings
 * @property {() => Promise<void>} [renew]  the next start begins with new processes and an empty database; absent where
 *   the wiki is somebody else's
 * @property {(settings: import('./definition.js').Settings, mark: string) =>
 *   Promise<{doors: Doors, warmUp: import('./warm-up.js').WarmUp | null, pictureMarkdown?: string | null}>}
 *   prepare  brings the site into the state that
 *   such a trial begins with: pages at their sizes, a warm wiki. `mark`: as in GeneratorSettings; `warmUp`: null if it
 *   needs none
 * @property {(settings: import('./definition.js').Settings) =>
 *   Promise<import('./cold.js').ColdProof & {sentEach?: number[]}>} proveCold
 *   empties the caches and proves it at the trial's door; leaves the counter at 0
 * @property {(settings: import('./definition.js').Settings) =>
 *   () => Promise<import('./purges.js').TrialPurges | null>} watchPurges  counts the wiki's purges from
 *   now on; the returned function, called after the trial, waits until all are sent. null: no purges, or unknown
 * @property {(settings: import('./definition.js').Settings) =>
 *   () => Promise<import('./traces.js').TrialTraces | null>} [watchTraces]  counts the wiki's spans from now on; the
 *   returned function waits for them after the trial. null: no traces; absent where the wiki is somebody else's
 * @property {(settings: import('./definition.js').Settings) => Promise<number>} [measureCrawlCapacity]  old texts that
 *   the prepared wiki can show a second; absent where the wiki is somebody else's
 * @property {(fault: NonNullable<import('./definition.js').Settings['fault']>,
 *   during: {generators: import('./generator.js').Generators, hasResponse: () => Promise<boolean>}) =>
 *   Promise<import('./fault.js').FaultTimes>} causeFault  `hasResponse`: whether a request of the trial has a response
 * @property {() => Promise<import('./counter.js').Counter>} readCounter  and resets it to 0
 * @property {() => Promise<(import('./wiki-totals.js').Total | null)[]>} [readTotals]  of each wiki, and resets
 *   nothing; absent where the lab cannot ask each wiki
 * @property {() => Promise<import('../saves/waiting.js').Saving>} [readSaving]  of all wikis; absent where the lab
 *   cannot ask each wiki
 * @property {(trial: import('./matrix.js').PlannedTrial) => Promise<void>} admit  resolves when the trial may begin;
 *   throws when it may not
 * @property {(trial: import('./matrix.js').PlannedTrial, requestsSent: number) => void} ended  call after each trial
 * @property {() => Promise<void>} close
 */
