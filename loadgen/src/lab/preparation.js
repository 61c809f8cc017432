import { request } from '@stevec/harness/request'
import { countOf } from '../count-of.js'
import { acceptedStatuses, isUnsafe } from '../saves/strategy.js'
import { readSaving, waitUntilSettled } from '../saves/waiting.js'
import { PROBE_LINK, PROBE_PAGE, PROBE_TEXT } from './cold.js'
import { sizeOf } from '../../scenarios/content.js'
import { createHistories } from './histories.js'
import { createShortLinks, writeShortLink, writeTargets } from './links.js'
import { createPageSizes } from './page-sizes.js'
import { WRITE_TIMEOUT_MS, writePages } from './pages.js'
import { openConnections } from './warm-up.js'
import { WARM_UP_PAGES, warmUpPageName } from './warm-up-pages.js'
import { createWikiWarmer } from './warm-wikis.js'

/** @typedef {import('./definition.js').Settings} Settings */

/**
 * @typedef {object} Done  since the wiki's start
 * @property {Partial<Record<Settings['resource'], import('./warm-up.js').WarmUp>>} warmUps
 * @property {number} connections
 * @property {number} connectedUntilMs
 */

/** Shorter than nginx keeps an idle connection open (keepalive_timeout in nginx/templates/origin.eta). */
const CONNECTIONS_KEPT_MS = 540_000
/** Up to this many clients, opening connections takes negligible time. */
const FEW_CLIENTS = 16

/**
 * Brings the wiki into the state that a trial begins with: its pages at their sizes, its short links, compiled code,
 * open connections.
 * Remembers what it has done, so that the next trial needs only the difference.
 * @param {object} options
 * @param {number} options.seed  of the pages' texts
 * @param {boolean} options.emulated  whether the origin's CPU is emulated
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 */
export function createPreparation ({ seed, emulated, signal, progress }) {
  const sizes = createPageSizes(seed)
  const links = createShortLinks()
  const histories = createHistories(seed)
  const warmer = createWikiWarmer({ seed, emulated, signal })
  /** @type {Done} */
  const nothingDone = { warmUps: {}, connections: 0, connectedUntilMs: 0 }
  let done = { ...nothingDone }
  /** Written by trials, beyond the stack's initial pages; and by warm-ups before the stack. */
  let [writtenBytes, warmedBefore] = [0, 0]

  /** @param {Settings} settings */
  const opensConnections = (settings) => clientsOf(settings) > done.connections ||
    (clientsOf(settings) > FEW_CLIENTS && performance.now() > done.connectedUntilMs)

  return {
    writtenBytes: () => writtenBytes + warmer.writtenBytes() - warmedBefore,

    /** @param {import('./lab-stack.js').Started} started  since the last trial */
    forget (started) {
      if (started === 'nothing') return
      done = { ...nothingDone }
      if (started === 'wiki') return
      sizes.clear()
      links.clear()
      histories.clear()
      ;[writtenBytes, warmedBefore] = [0, warmer.writtenBytes()]
    },

    /**
     * @param {Settings} settings
     * @returns {boolean} whether `prepare` will write pages or open connections, which needs fast links
     */
    isHeavy: (settings) => sizes.missing(settings).length > 0 || links.areMissing(settings) ||
      histories.areMissing(settings) || makesLinks(settings) || opensConnections(settings),

    /**
     * @param {Settings} settings
     * @param {Record<'nocache' | 'source', import('../stack/doors.js').Door>} doors
     * @param {string[]} wikiUrls  the wikis themselves
     * @param {string} mark  of the trial
     * @returns {Promise<import('./warm-up.js').WarmUp>} of these wikis
     * @throws {Error} when the wiki refuses a page
     */
    async prepare (settings, doors, wikiUrls, mark) {
      const [wikiUrl] = wikiUrls
      const [missing, clients] = [sizes.missing(settings), clientsOf(settings)]
      const accepted = acceptedStatuses(settings)
      await histories.write({
        settings,
        sizeOf: (page) => sizeOf(seed, page, settings.page_size_chars),
        to: { wikiUrl, accepted, signal, onProgress: progress.writing }
      })
      await writePages({ wikiUrl, seed, pages: missing, accepted, signal, onProgress: progress.writing })
      sizes.wrote(missing)
      const written = await links.write({ wikiUrl, settings, signal, onProgress: progress.writing })
      let warmed = done.warmUps[settings.resource]
      if (warmed !== undefined) {
        for (const { sizeChars } of missing) writtenBytes += sizeChars
      } else {
        await writeProbe(wikiUrl, settings, signal)
        await settle(settings, wikiUrls, signal)
        // Through the balancer, one of several wikis might get all edits.
        const ways = wikiUrls.length === 1 ? [doors.nocache] : wikiUrls.map((url) => ({ url }))
        warmed = await warmer.warm(settings, { wikiUrl, doors: ways })
        done.warmUps = { ...done.warmUps, [settings.resource]: warmed }
        progress.ready(missing.length, written, warmed)
      }
      await settle(settings, wikiUrls, signal)
      if (makesLinks(settings)) await writeTargets({ wikiUrl, mark, links: settings.requests, signal })
      if (opensConnections(settings)) {
        await openConnections({ door: doors.source, connections: clients, signal })
        done = { ...done, connections: clients, connectedUntilMs: performance.now() + CONNECTIONS_KEPT_MS }
      }
      return warmed
    },

    /** @param {import('./matrix.js').PlannedTrial} trial  complete or only started */
    ended (trial) {
      writtenBytes += sizes.edited(trial)
    }
  }
}

/** @param {Settings} settings */
const makesLinks = ({ resource, edit_ratio: editRatio }) => resource === 'short-link' && editRatio > 0

/**
 * The next step reads what was written, and a trial begins with nothing left to store.
 * @param {Settings} settings
 * @param {string[]} wikiUrls
 * @param {AbortSignal} signal
 * @throws {Error} when something is not stored in time
 */
async function settle (settings, wikiUrls, signal) {
  if (!isUnsafe(settings)) return
  const { waiting } = await waitUntilSettled(() => readSaving(wikiUrls), signal)
  if (waiting === 0) return
  throw new Error(`before the trial, ${countOf(waiting, 'save')} still waited for the database after two minutes; ` +
    'wiki.log in the stack\'s folder says why')
}

/** @param {Settings} settings */
const clientsOf = ({ vus, background_vus: background }) => vus + background

/**
 * Writes what the proof of cold caches reads, and short links for the warm-up of an emptied cache.
 * @param {string} wikiUrl
 * @param {Pick<Settings, 'resource'>} settings
 * @param {AbortSignal} signal
 */
async function writeProbe (wikiUrl, { resource }, signal) {
  const headers = { 'content-type': 'text/markdown' }
  const probe = { method: 'POST', headers, body: PROBE_TEXT, timeoutMs: WRITE_TIMEOUT_MS }
  await request(`${wikiUrl}/wiki/${PROBE_PAGE}`, probe)
  if (resource === 'page') return
  const warmUps = Array.from({ length: WARM_UP_PAGES }, (_, page) => warmUpPageName(page))
  for (const id of [PROBE_LINK, ...warmUps]) await writeShortLink(wikiUrl, id, PROBE_PAGE, signal)
}
