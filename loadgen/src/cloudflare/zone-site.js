import { setTimeout as sleep } from 'node:timers/promises'
import { pageName } from '../../scenarios/plan.js'
import { countOf } from '../count-of.js'
import { PROBE_PAGE } from '../lab/cold.js'
import { NO_LOGS } from '../lab/logs.js'
import { createPageSizes } from '../lab/page-sizes.js'
import { writePages } from '../lab/pages.js'
import { storesPages } from '../lab/storing.js'
import { pageMessages } from '../lab/warm-up-messages.js'
import { FEW_ROUNDS, warmUp } from '../lab/warm-up.js'
import { createBudget, requestsOfTrial, total } from './budget.js'
import { checkWiki, PROBE_PATH, withAdvice } from './check-wiki.js'
import { createCloudflareTarget } from './target.js'

/** Few, as each one counts against the budget of the trials; no edits, as the wiki is somebody else's. */
export const WARM_UP_REQUESTS = FEW_ROUNDS.most * FEW_ROUNDS.requests
/** The longest wait for the wiki's rate limit, whatever its `Retry-After`. */
const LIMIT_WAIT_MAX_S = 120
const SECOND_MS = 1000

/** @typedef {import('../lab/definition.js').Settings} Settings */

/**
 * Creates a site (`../lab/site.js`) from a zone's doors and the wiki behind them, instead of a stack of the lab's own.
 * The wiki belongs to the user: the run writes its pages and changes nothing else.
 * @param {object} options
 * @param {number} options.seed  of the pages' text
 * @param {import('./verified.js').Verified} options.verified
 * @param {import('@stevec/cdn/cloudflare/purge').Purge} options.purge
 * @param {number} options.maxRequests
 * @param {boolean} options.edits  whether trials also write
 * @param {AbortSignal} options.signal
 * @param {import('../lab/progress.js').Progress} options.progress
 * @returns {import('../lab/site.js').Site}
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the site: its methods share one budget
export function createZoneSite ({ seed, verified, purge, maxRequests, edits, signal, progress }) {
  const { zone, doors: urls, verified_at: verifiedAt, checks } = verified
  const identity = { target: { kind: 'cloudflare', zone, doors: urls } }
  const { doors, readCounter, purgeAndProveCold } = createCloudflareTarget({ doors: urls, purge })
  // Experiments fitted to a zone never use the door `local`.
  const zoneDoors =
    /** @type {Record<import('../stack/doors.js').DoorName, import('../stack/doors.js').Door>} */ (doors())
  const sizes = createPageSizes(seed)
  const onLimit = waitAtLimit({ sourceUrl: urls.source, edits, signal, progress })
  const budget = createBudget(maxRequests)
  /** @type {import('../lab/warm-up.js').WarmUp | null} */
  let warmed = null
  let isChecked = false
  let ranBefore = false

  /** @param {Settings} settings */
  async function start (settings) {
    if (!isChecked) {
      progress.doors(doors())
      await checkWiki(urls.source, settings, budget.spend)
      isChecked = true
    }
    return { doors: zoneDoors, config_hashes: {} }
  }

  return {
    identity,
    facts: {
      ...identity,
      verification: {
        verified_at: verifiedAt,
        checks: checks.map(({ id, outcome, saw }) => ({ id, outcome, saw }))
      },
      max_requests: maxRequests
    },
    logs: NO_LOGS,
    processes: () => [],
    quotaCores: null,
    links: false,
    hasPops: () => true,
    start,

    async prepare (settings) {
      await start(settings)
      const missing = sizes.missing(settings)
      if (missing.length > 0) progress.note(`writing ${countOf(missing.length, 'page')}`)
      await writePages({ wikiUrl: urls.source, seed, pages: missing, signal, onLimit })
        .catch((error) => { throw withAdvice(error) })
      sizes.wrote(missing)
      budget.spend(missing.length)
      if (warmed === null) {
        // Bypasses Cloudflare, so that Cloudflare does not count the warm-up.
        const messages = pageMessages({ pages: settings.pages })
        warmed = await warmUp({ door: zoneDoors.source, messages, rounds: FEW_ROUNDS, signal })
        budget.spend(warmed.requests)
        progress.ready(missing.length, 0, warmed)
      }
      return { doors: zoneDoors, warmUp: warmed }
    },

    async causeFault () {
      throw new Error('a fault needs a stack of the lab\'s own: the wiki behind a zone is not killed')
    },

    // Only the wiki knows where it sends purges.
    watchPurges: () => async () => null,

    async proveCold (settings) {
      const proof = await purgeAndProveCold(
        /** @type {'cached' | 'nocache' | 'source'} */ (settings.door),
        PROBE_PATH,
        { hits: storesPages(zoneDoors[settings.door], settings) }
      )
      budget.spend(proof.observed.length + 2)
      return proof
    },

    async readCounter () {
      budget.spend(1)
      return readCounter()
    },

    async admit (trial) {
      budget.refuseExcess(total(requestsOfTrial(trial)) + sizes.missing(trial.settings).length)
      // Cloudflare counts by whole seconds, so two trials must not share a second.
      if (ranBefore) {
        await sleep(SECOND_MS * (Math.ceil(Date.now() / SECOND_MS) + 1) - Date.now(), undefined, { signal })
      }
    },

    ended (trial, requestsSent) {
      ranBefore = true
      sizes.edited(trial)
      budget.spend(requestsSent)
    },

    async close () {
      progress.note(
        `sent ${countOf(budget.spent(), 'request')} of at most ${maxRequests}; the pages stay in the wiki, nothing ` +
          'else in it was changed'
      )
    }
  }
}

/**
 * Returns a function that waits when the wiki limits how often it is written to.
 * @param {object} options
 * @param {string} options.sourceUrl
 * @param {boolean} options.edits  whether trials also write: then a limit would distort them
 * @param {AbortSignal} options.signal
 * @param {import('../lab/progress.js').Progress} options.progress
 * @returns {(retryAfterS: number) => Promise<void>}
 */
function waitAtLimit ({ sourceUrl, edits, signal, progress }) {
  return async (retryAfterS) => {
    if (edits) {
      throw new Error(`the wiki at ${sourceUrl} limits how often it is written to, and the trials of this experiment ` +
        'write: start it with WRITES_PER_MINUTE=0, then run again')
    }
    const waitS = Math.min(retryAfterS, LIMIT_WAIT_MAX_S)
    progress.note('the wiki limits how often it is written to: waiting ' +
      `${waitS} s (WRITES_PER_MINUTE=0 lifts the limit)`)
    await sleep(SECOND_MS * waitS, undefined, { signal })
  }
}

/**
 * Names the pages that a run writes.
 * @param {number} pages
 */
export const pagesInWords = (pages) =>
  `${pageName(0)}${pages > 1 ? ` to ${pageName(pages - 1)}` : ''} and ${PROBE_PAGE}`
