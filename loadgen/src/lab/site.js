import { rmSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { requestAt } from '../../scenarios/plan.js'
import { sizeOf } from '../../scenarios/content.js'
import { disengageProfile, engageProfile } from '../profile/apply.js'
import { request } from '../stack/doors.js'
import { isAlive } from '../stack/processes.js'
import { flexiblePorts, startStack, stopStack } from '../stack/stack.js'
import { PROBE_PAGE } from './cold.js'
import { labDatabase } from './database.js'
import { acquireLock } from './lock.js'
import { logEnds } from './logs.js'
import { writePages } from './pages.js'
import { openConnections, warmUp } from './warm-up.js'

/** What trials wrote into the database (history keeps every edit) and the logs; beyond it the next trial begins on an empty stack. */
const GROWTH_MAX_BYTES = 1_000_000_000

/** What the wiki is told of caching for such a trial. @param {import('./definition.js').Settings} settings */
const cachingFor = (settings) => ({
  CACHE_POLICY: settings.policy,
  CACHE_TTL_S: String(settings.ttl_s),
  CACHE_STALE_WHILE_REVALIDATE_S: String(settings.stale_while_revalidate_s),
  CACHE_STALE_IF_ERROR_S: String(settings.stale_if_error_s)
})

/**
 * The wiki under test: a stack and a database of its own, so that a wiki that someone uses is neither measured nor written to. It outlasts a run, for a study.
 * @param {object} options
 * @param {{stateDirectory: string, imageDirectory: string, mongodbUri?: string, ports: Partial<import('../config.js').Ports>}} options.config
 * @param {number} options.seed  of what pages say
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {ReturnType<typeof import('../origin/origin.js').originOption>} options.openOrigin  where the wiki runs
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @throws {import('./lock.js').LockedError} when another one is in use
 */
export async function openSite ({ config, seed, profile, openOrigin, signal, progress }) {
  const stackDirectory = path.join(config.stateDirectory, 'lab')
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const database = config.mongodbUri === undefined ? null : labDatabase(config.mongodbUri)
  const { ports, moved } = await flexiblePorts(config.ports)
  if (moved) progress.moved()

  /** @type {import('../stack/state.js').StackState | null} */
  let stack = null
  /** How the wiki that runs was told to be cached. @type {Record<string, string>} */
  let caching = {}
  let warmUpRequests = 0
  let connections = 0
  let writtenBytes = 0
  /** Whether the profile is in force: what prepares a trial is done at full speed. */
  let engaged = false
  /** Characters that each page has now; a page that is not in it has to be written before it is read. @type {Map<number, number>} */
  const sizes = new Map()

  const stop = async () => {
    await stopStack(stackDirectory)
    rmSync(stackDirectory, { recursive: true, force: true })
    stack = null
  }
  const isWell = () => stack !== null && stack.processes.every(isAlive)
  const grownBytes = () => writtenBytes + Object.values(logEnds(stackDirectory)).reduce((sum, bytes) => sum + bytes, 0)

  /**
   * The stack for such a trial: the one that runs, or a new one with an empty database.
   * @param {import('./definition.js').Settings} settings
   * @returns {Promise<import('../stack/state.js').StackState>}
   */
  async function start (settings) {
    const wanted = cachingFor(settings)
    if (stack !== null && isWell() && isDeepStrictEqual(caching, wanted) && grownBytes() < GROWTH_MAX_BYTES) return stack
    if (stack !== null) {
      await stop()
      await database?.drop()
    }
    sizes.clear()
    writtenBytes = 0
    warmUpRequests = 0
    connections = 0
    caching = wanted
    engaged = false
    stack = await startStack({
      directory: stackDirectory,
      mongodbUri: database?.uri,
      ports,
      origin,
      // Trials write their pages without a name, and all from one address.
      wikiEnvironment: { ...caching, ACCESS: 'open', WRITES_PER_MINUTE: '0' },
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
    stackDirectory,
    wikiUrl: `http://127.0.0.1:${ports.wiki}`,
    start,
    /** For manifests. */
    origin: origin.facts,
    /** What the wiki's nginx has logged is to be found in the stack's folder. */
    fetchLog: () => origin.fetchLog(stackDirectory),
    sample: origin.sample,

    /**
     * Makes the wiki what a trial begins with: its pages are there at their sizes, and the wiki is warm.
     * @param {import('./definition.js').Settings} settings
     * @returns {Promise<{stack: import('../stack/state.js').StackState, warmUpRequests: number}>}
     * @throws {Error} when the stack does not start, or the wiki refuses a page
     */
    async prepare (settings) {
      const ready = await start(settings)
      const wanted = Array.from({ length: settings.pages }, (_, page) => ({ page, sizeChars: sizeOf(seed, page, settings.page_size_chars) }))
      const missing = wanted.filter(({ page, sizeChars }) => sizes.get(page) !== sizeChars)
      const clients = settings.vus + settings.background_vus
      if (engaged && (missing.length > 0 || clients > connections)) {
        await disengageProfile(ready)
        engaged = false
      }
      await writePages({ wikiUrl: this.wikiUrl, seed, pages: missing, signal })
      for (const { page, sizeChars } of missing) {
        sizes.set(page, sizeChars)
        writtenBytes += sizeChars
      }
      if (warmUpRequests === 0) {
        await request(`${this.wikiUrl}/wiki/${PROBE_PAGE}`, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'Read before each trial to prove that the caches are cold.' })
        warmUpRequests = await warmUp({ door: ready.doors.nocache, pages: settings.pages, signal })
        progress.ready(missing.length, warmUpRequests)
      }
      if (clients > connections) {
        await openConnections({ door: ready.doors.source, connections: clients, signal })
        connections = clients
      }
      if (!engaged) await engageProfile(ready)
      engaged = true
      return { stack: ready, warmUpRequests }
    },

    /**
     * To be called after each trial that may have edited pages: they are written anew before the next where their size has changed.
     * @param {import('./matrix.js').PlannedTrial} trial
     */
    edited ({ settings, plan: { plan } }) {
      for (let index = 0; plan.edit_ratio > 0 && index < plan.requests; index++) {
        const { page, edit } = requestAt(plan, index)
        if (!edit) continue
        const sizeChars = settings.edit_size_chars ?? sizeOf(seed, page, settings.page_size_chars)
        writtenBytes += sizeChars
        // Whether an edit came through is not asked: a page whose size may be another is not known.
        if (sizes.get(page) !== sizeChars) sizes.delete(page)
      }
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

/** @typedef {Awaited<ReturnType<typeof openSite>>} Site */
