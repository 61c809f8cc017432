import { createEdge } from '@stevec/cdn/edge'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { cacheStatusOf } from '../../scenarios/cache-status.js'
import { linkPath } from '../../scenarios/short-links.js'
import { readCounters } from './counter.js'

/** In no plan, so the proof warms no page of a trial. */
export const PROBE_PAGE = 'cold-proof'
export const PROBE_LINK = 'cold-proof'
export const PROBE_TEXT = 'Read before each trial to prove that the caches are cold.'
const RENEWED_WITHIN_MS = 10_000

/**
 * `observed`: '' for no status. `warm_up`: requests for pages of its own that the emptied cache got before the last
 * read, and how many of them reached the origin; null where nothing is stored.
 * @typedef {object} ColdProof
 * @property {boolean} cold
 * @property {string[]} observed
 * @property {number} origin_requests  of the observed reads
 * @property {import('./warm-cache.js').CacheWarmUp | null} [warm_up]
 */

/**
 * Empties every cache and proves it at a door: a page that was a HIT just before must be a MISS and reach the origin.
 * If no cache stores pages there, each read must reach the origin. Leaves the counter at 0.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door
 * @param {import('../../scenarios/short-links.js').Resource} [options.resource]  that is read; default: a page
 * @param {boolean} options.stores  whether a cache stores pages at this door (see storesPages)
 * @param {Record<string, {url: string, token: string}>} options.controls
 * @param {string[]} options.wikiUrls
 * @param {() => Promise<void>} [options.emptyOther]  empties a cache without a control listener
 * @param {() => Promise<import('./warm-cache.js').CacheWarmUp>} [options.warmCache]  sends the emptied cache requests
 *   for other pages
 * @returns {Promise<ColdProof>}
 */
export async function purgeAndProveCold (
  { door, resource = 'page', stores, controls, wikiUrls, emptyOther = async () => {}, warmCache }
) {
  const path = resource === 'page' ? `/wiki/${PROBE_PAGE}` : linkPath('GET', PROBE_LINK)
  const purge = () => Promise.all([
    emptyOther(),
    ...Object.values(controls).map((control) => createEdge(control).purgeEverything())
  ])
  const read = async () => {
    const { headers } = await request(`${door.url}${path}`)
    return cacheStatusOf((name) => headers[name]?.toString())
  }
  const counted = async () => (await readCounters(wikiUrls)).requests
  await purge()
  await counted()
  const observed = [await read(), await read()]
  let reached = await counted()
  await purge()
  const warmUp = stores && warmCache !== undefined ? await countWarmUp(warmCache, counted) : null
  observed.push(await read())
  reached += await counted()
  const cold = stores
    ? observed.join() === 'MISS,HIT,MISS' && reached === 2
    : observed.every((status) => status === '' || status === 'BYPASS') && reached === 3
  return { cold, observed, origin_requests: reached, warm_up: warmUp }
}

/**
 * @param {() => Promise<import('./warm-cache.js').CacheWarmUp>} warmCache
 * @param {() => Promise<number>} counted  requests that reached the wiki since the last call
 * @returns {Promise<import('./warm-cache.js').CacheWarmUp>} as counted, once nothing is under way
 */
async function countWarmUp (warmCache, counted) {
  const { requests, origin_requests: expected } = await warmCache()
  let reached = 0
  // A cache may renew a copy after it has served it.
  await waitUntil(async () => (reached += await counted()) >= expected, RENEWED_WITHIN_MS)
  return { requests, origin_requests: reached }
}
