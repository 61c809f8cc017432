import { request } from '@stevec/harness/request'
import { PROBE_PAGE, PROBE_TEXT } from './cold.js'
import { createPageSizes } from './page-sizes.js'
import { WRITE_TIMEOUT_MS, writePages } from './pages.js'
import { createWarmUpEdits } from './warm-up-pages.js'
import { combine, FEW_ROUNDS, openConnections, warmUp } from './warm-up.js'

/** @typedef {import('./definition.js').Settings} Settings */

/** Shorter than nginx keeps an idle connection open (keepalive_timeout in nginx/templates/origin.eta). */
const CONNECTIONS_KEPT_MS = 540_000
/** Up to this many clients, opening connections takes negligible time. */
const FEW_CLIENTS = 16

/**
 * Brings the wiki into the state that a trial begins with: its pages at their sizes, compiled code, open connections.
 * Remembers what it has done, so that the next trial needs only the difference.
 * @param {object} options
 * @param {number} options.seed  of the pages' texts
 * @param {boolean} options.emulated  whether the origin's CPU is emulated
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 */
export function createPreparation ({ seed, emulated, signal, progress }) {
  const sizes = createPageSizes(seed)
  const edits = createWarmUpEdits(seed)
  /** @type {{warmUp: import('./warm-up.js').WarmUp | null, connections: number, connectedUntilMs: number}} */
  const nothingDone = { warmUp: null, connections: 0, connectedUntilMs: 0 }
  let done = { ...nothingDone }
  /** Written by trials and warm-ups, beyond the stack's initial pages. */
  let writtenBytes = 0

  /** @param {Settings} settings */
  function opensConnections (settings) {
    const clients = settings.vus + settings.background_vus
    return clients > done.connections || (clients > FEW_CLIENTS && performance.now() > done.connectedUntilMs)
  }

  /**
   * @param {Settings} settings
   * @param {Pick<import('../stack/doors.js').Door, 'url'>[]} doors  that together lead to every wiki, each to others
   * @returns {Promise<import('./warm-up.js').WarmUp>} of all
   */
  async function warmWikis (settings, doors) {
    const next = edits.like(settings)
    const nextEdit = () => {
      const edit = next()
      writtenBytes += edit.text.length
      return edit
    }
    // Times of an emulated CPU are not evaluated, and each request takes up to a second there.
    const rounds = emulated ? FEW_ROUNDS : undefined
    const done = []
    for (const door of doors) done.push(await warmUp({ door, pages: settings.pages, nextEdit, rounds, signal }))
    return combine(done)
  }

  return {
    writtenBytes: () => writtenBytes,

    /** @param {import('./lab-stack.js').Started} started  since the last trial */
    forget (started) {
      if (started === 'nothing') return
      done = { ...nothingDone }
      if (started === 'wiki') return
      sizes.clear()
      writtenBytes = 0
    },

    /**
     * @param {Settings} settings
     * @returns {boolean} whether `prepare` will write pages or open connections, which needs fast links
     */
    isHeavy: (settings) => sizes.missing(settings).length > 0 || opensConnections(settings),

    /**
     * @param {Settings} settings
     * @param {Record<'nocache' | 'source', import('../stack/doors.js').Door>} doors
     * @param {string[]} wikiUrls  the wikis themselves
     * @returns {Promise<import('./warm-up.js').WarmUp>} of these wikis
     * @throws {Error} when the wiki refuses a page
     */
    async prepare (settings, doors, wikiUrls) {
      const [wikiUrl] = wikiUrls
      const missing = sizes.missing(settings)
      await writePages({ wikiUrl, seed, pages: missing, signal, onProgress: progress.writing })
      sizes.wrote(missing)
      if (done.warmUp !== null) {
        for (const { sizeChars } of missing) writtenBytes += sizeChars
      } else {
        const headers = { 'content-type': 'text/markdown' }
        const probe = { method: 'POST', headers, body: PROBE_TEXT, timeoutMs: WRITE_TIMEOUT_MS }
        await request(`${wikiUrl}/wiki/${PROBE_PAGE}`, probe)
        // Through the balancer, one of several wikis might get all edits.
        const ways = wikiUrls.length === 1 ? [doors.nocache] : wikiUrls.map((url) => ({ url }))
        done.warmUp = await warmWikis(settings, ways)
        progress.ready(missing.length, done.warmUp)
      }
      if (opensConnections(settings)) {
        const connections = settings.vus + settings.background_vus
        await openConnections({ door: doors.source, connections, signal })
        done.connections = connections
        done.connectedUntilMs = performance.now() + CONNECTIONS_KEPT_MS
      }
      return done.warmUp
    },

    /** @param {import('./matrix.js').PlannedTrial} trial  complete or only started */
    ended (trial) {
      writtenBytes += sizes.edited(trial)
    }
  }
}
