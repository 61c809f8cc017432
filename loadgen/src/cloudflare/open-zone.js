import { createClient } from '@stevec/cdn/cloudflare/client'
import { createPurge } from '@stevec/cdn/cloudflare/purge'
import { readToken } from '@stevec/cdn/cloudflare/token'
import { purgeZoneId } from '@stevec/cdn/cloudflare/zone'
import { countOf } from '../count-of.js'
import { trialsLeft } from '../lab/trials-left.js'
import { checkBudget, inWords, requestsOf, total } from './budget.js'
import { oneCaching } from './fit.js'
import { requireVerified } from './verified.js'
import { createZoneSite, pagesInWords, WARM_UP_REQUESTS } from './zone-site.js'

/**
 * One purge per trial soon reaches the limit of a small plan, which is one purge per 12 s. Long waits are fine, as no
 * user sits at a terminal and waits for the next purge.
 */
const RETRIES = Object.freeze({ attemptsMax: 12, waitMaxMs: 300_000 })

/**
 * Opens a zone as the site of runs. Refuses before the first request to a door: a zone that is not verified, a plan
 * above the budget, experiments that need different caching settings of the wiki, a missing token.
 * @param {object} options
 * @param {ReturnType<typeof import('../config.js').readConfig>} options.config
 * @param {string} options.zone
 * @param {{definition: import('../lab/definition.js').Definition, directory: string}[]} options.runs  finished trials
 *   do not count
 * @param {number} options.seed
 * @param {number} options.maxRequests
 * @param {AbortSignal} options.signal
 * @param {import('../lab/progress.js').Progress} options.progress
 * @returns {Promise<import('../lab/site.js').Site>}
 * @throws {Error} whose message says what to do
 */
export async function openZone ({ config, zone, runs, seed, maxRequests, signal, progress }) {
  const verified = requireVerified(config.stateDirectory, zone)
  oneCaching(runs.map(({ definition }) => definition))
  const trials = trialsLeft(runs, seed)
  const requests = requestsOf(trials, seed, WARM_UP_REQUESTS)
  checkBudget(requests, maxRequests)
  const client = createClient({
    token: readToken({ token: config.cloudflare.token, file: config.cloudflare.tokenFile }),
    apiUrl: config.cloudflare.apiUrl,
    signal,
    onRetry: progress.note,
    ...RETRIES
  })
  const purge = createPurge({ client, zoneId: await purgeZoneId(client, zone) })

  progress.note(`through the zone ${zone}, verified ${verified.verified_at}`)
  progress.note(`about ${countOf(total(requests), 'request')} of at most ${maxRequests}: ${inWords(requests)}`)
  const edits = trials.some(({ plan }) => plan.writes > 0)
  if (trials.length > 0) {
    progress.note(`writes ${pagesInWords(Math.max(...trials.map(({ settings }) => settings.pages)))} on the wiki at ${verified.doors.source}${edits ? ', and edits them' : ''}; what they said before stays in their history`)
  }
  return createZoneSite({ seed, verified, purge, maxRequests, edits, signal, progress })
}
