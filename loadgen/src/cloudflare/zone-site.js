import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '@stevec/cdn/cloudflare/door'
import { cachePolicy } from '@stevec/wiki-app/cache-policy'
import { pageName } from '../../scenarios/plan.js'
import { PROBE_PAGE, PROBE_TEXT } from '../lab/cold.js'
import { acquireLock } from '../lab/lock.js'
import { NO_LOGS } from '../lab/logs.js'
import { createPageSizes } from '../lab/page-sizes.js'
import { PageRefused, writePages } from '../lab/pages.js'
import { cachingFor } from '../lab/wiki-settings.js'
import { storesPages } from '../lab/storing.js'
import { warmUp } from '../lab/warm-up.js'
import { BudgetError, requestsOfTrial, total } from './budget.js'
import { createCloudflareTarget } from './target.js'

/** Enough for a wiki that already serves requests; each one counts against the budget of the trials. */
export const WARM_UP_REQUESTS = 300
/** The longest wait for the wiki's rate limit, whatever its `Retry-After`. */
const LIMIT_WAIT_MAX_S = 120
const SECOND_MS = 1000
const PROBE_PATH = `/wiki/${PROBE_PAGE}`

/** @typedef {import('../lab/definition.js').Settings} Settings */

/**
 * Creates a site (`../lab/site.js`) from a zone's doors and the wiki behind them, instead of a stack of the lab's own.
 * The wiki belongs to the user: the run writes its pages and changes nothing else.
 * @param {object} options
 * @param {{stateDirectory: string}} options.config
 * @param {number} options.seed  of the pages' text
 * @param {import('./verified.js').Verified} options.verified
 * @param {import('@stevec/cdn/cloudflare/purge').Purge} options.purge
 * @param {number} options.maxRequests
 * @param {boolean} options.edits  whether trials also write
 * @param {AbortSignal} options.signal
 * @param {import('../lab/progress.js').Progress} options.progress
 * @returns {import('../lab/site.js').Site}
 * @throws {import('../lab/lock.js').LockedError} when another run is in progress
 */
export function createZoneSite ({ config, seed, verified, purge, maxRequests, edits, signal, progress }) {
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const { zone, doors: urls, verified_at: verifiedAt, checks } = verified
  const identity = { target: { kind: 'cloudflare', zone, doors: urls } }
  const { doors, readCounter, purgeAndProveCold } = createCloudflareTarget({ doors: urls, purge })
  // Experiments fitted to a zone never use the door `local`.
  const zoneDoors =
    /** @type {Record<import('../stack/doors.js').DoorName, import('../stack/doors.js').Door>} */ (doors())
  const sizes = createPageSizes(seed)
  let spent = 0
  let warmUpRequests = 0
  let looked = false
  let ranBefore = false

  /**
   * Checks the wiki once; creates the probe page if it is missing.
   * @param {Settings} settings
   * @throws {Error} when the wiki's caching settings are not those of the experiment
   */
  async function look (settings) {
    if (looked) return
    const read = () => ask(urls.source + PROBE_PATH)
    let answer = await read()
    if (answer.status === 404) {
      const { status, body } = await ask(urls.source + PROBE_PATH, {
        method: 'POST',
        headers: { 'content-type': 'text/markdown' },
        body: PROBE_TEXT
      })
      if (status !== 201 && status !== 200) throw explained(new PageRefused(PROBE_PAGE, status, body))
      answer = await read()
      spent += 2
    }
    spent += 1
    if (answer.status !== 200) throw new Error(`the wiki at ${urls.source} answers ${answer.status} for ${PROBE_PATH}`)
    const {
      policy, ttl_s: ttlS, stale_while_revalidate_s: staleWhileRevalidateS, stale_if_error_s: staleIfErrorS
    } = settings
    // Any cdnTtlS will do: the lifetime in a CDN that receives purges is not part of Cache-Control.
    const wanted = cachePolicy(policy, { ttlS, staleWhileRevalidateS, staleIfErrorS, cdnTtlS: 0 })
      .headers['cache-control']
    const found = String(answer.headers['cache-control'] ?? 'none')
    if (found !== wanted) {
      throw new Error(`the experiment wants pages with "Cache-Control: ${wanted}", and the wiki at ${urls.source} sends "${found}". A run never restarts a wiki that is not its own: start it with ${Object.entries(cachingFor(settings)).filter(([name]) => name.startsWith('CACHE_')).map((entry) => entry.join('=')).join(' ')}, then run again`)
    }
    looked = true
  }

  /** @param {Settings} settings */
  async function start (settings) {
    if (!looked) progress.doors(doors())
    await look(settings)
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
    hasPops: true,
    start,

    async prepare (settings) {
      await start(settings)
      const missing = sizes.missing(settings)
      if (missing.length > 0) progress.note(`writing ${missing.length} pages`)
      await writePages({ wikiUrl: urls.source, seed, pages: missing, signal, onLimit: whenLimited })
        .catch((error) => { throw explained(error) })
      sizes.wrote(missing)
      spent += missing.length
      if (warmUpRequests === 0) {
        // Bypasses Cloudflare, so that Cloudflare does not count the warm-up.
        warmUpRequests = await warmUp({
          door: zoneDoors.source,
          pages: settings.pages,
          requests: WARM_UP_REQUESTS,
          signal
        })
        spent += warmUpRequests
        progress.ready(missing.length, warmUpRequests)
      }
      return { doors: zoneDoors, warmUpRequests }
    },

    async causeFault () {
      throw new Error('nothing behind a zone is made to fail')
    },

    // Only the wiki knows where it sends purges.
    watchPurges: () => async () => null,

    async proveCold (settings) {
      const proof = await purgeAndProveCold(
        /** @type {'cached' | 'nocache' | 'source'} */ (settings.door),
        PROBE_PATH,
        { hits: storesPages(zoneDoors[settings.door], settings) }
      )
      spent += proof.observed.length + 2
      return proof
    },

    async readCounter () {
      spent += 1
      return readCounter()
    },

    async admit (trial) {
      const next = total(requestsOfTrial(trial)) + sizes.missing(trial.settings).length
      if (spent + next > maxRequests) {
        throw new BudgetError(`${spent} requests are sent, the next trial may take ${next}, and the run may send ${maxRequests}: what is measured is kept; go on with stevec run --resume --max-requests N`)
      }
      // Cloudflare counts by whole seconds, so two trials must not share a second.
      if (ranBefore) {
        await sleep(SECOND_MS * (Math.ceil(Date.now() / SECOND_MS) + 1) - Date.now(), undefined, { signal })
      }
    },

    ended (trial, requestsSent) {
      ranBefore = true
      sizes.edited(trial)
      spent += requestsSent
    },

    async close () {
      release()
      progress.note(
        `sent ${spent} requests of at most ${maxRequests}; the pages stay in the wiki, nothing else of it was changed`
      )
    }
  }

  /** @param {number} retryAfterS */
  async function whenLimited (retryAfterS) {
    if (edits) {
      throw new Error(`the wiki at ${urls.source} limits how often it is written to, and the trials of this experiment write: start it with WRITES_PER_MINUTE=0, then run again`)
    }
    const waitS = Math.min(retryAfterS, LIMIT_WAIT_MAX_S)
    progress.note(`the wiki limits how often it is written to: waiting ${waitS} s (WRITES_PER_MINUTE=0 spares that)`)
    await sleep(SECOND_MS * waitS, undefined, { signal })
  }
}

/**
 * @param {unknown} error
 * @returns {unknown} the error, with advice if the wiki requires a login
 */
function explained (error) {
  if (!(error instanceof PageRefused) || (error.status !== 401 && error.status !== 403)) return error
  return new Error(`${error.message}. Experiments write their pages without a name: for the time of the run the wiki must be started with ACCESS=open WRITES_PER_MINUTE=0, and its address be known to nobody else`)
}

/**
 * Names the pages that a run writes.
 * @param {number} pages
 */
export const pagesInWords = (pages) =>
  `${pageName(0)}${pages > 1 ? ` to ${pageName(pages - 1)}` : ''} and ${PROBE_PAGE}`
