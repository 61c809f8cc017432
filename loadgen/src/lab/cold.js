import { createEdge } from '@stevec/cdn/edge'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { cacheStatusOf } from '../../scenarios/cache-status.js'
import { linkPath } from '../../scenarios/short-links.js'
import { entrancesOf } from '../stack/doors.js'
import { readCounters } from './counter.js'

/** In no plan, so the proof warms no page of a trial. */
export const PROBE_PAGE = 'cold-proof'
export const PROBE_LINK = 'cold-proof'
export const PROBE_TEXT = 'Read before each trial to prove that the caches are cold.'
const RENEWED_WITHIN_MS = 10_000

/**
 * @typedef {object} ColdProof
 * @property {boolean} cold
 * @property {string[]} observed  of three reads at each edge, one after the other; '' for no status
 * @property {number} origin_requests  of the observed reads
 * @property {import('./warm-cache.js').CacheWarmUp | null} [warm_up]  requests for warm-up pages, sent to the emptied
 *   caches before the last read; null where nothing is stored
 */

/**
 * Empties every cache and proves it at a door, at each of its edges: a page that was a HIT just before must be a MISS
 * and reach the origin. If no cache stores pages there, each read must reach the origin. Leaves the counter at 0.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door
 * @param {import('../../scenarios/short-links.js').Resource} [options.resource]  that is read; default: a page
 * @param {boolean} options.stores  whether a cache stores pages at this door (see storesPages)
 * @param {Record<string, {url: string, token: string}>} options.controls
 * @param {string[]} options.wikiUrls
 * @param {() => Promise<void>} [options.emptyOther]  empties a cache without a control listener
 * @param {(entrance: import('../stack/doors.js').Entrance) => Promise<import('./warm-cache.js').CacheWarmUp>}
 *   [options.warmCache]  sends an emptied cache requests for other pages
 * @returns {Promise<ColdProof & {sentEach: number[]}>}  `sentEach`: requests through each edge
 */
export async function purgeAndProveCold (
  { door, resource = 'page', stores, controls, wikiUrls, emptyOther = async () => {}, warmCache }
) {
  const path = resource === 'page' ? `/wiki/${PROBE_PAGE}` : linkPath('GET', PROBE_LINK)
  const purge = () => Promise.all([
    emptyOther(),
    ...Object.values(controls).map((control) => createEdge(control).purgeEverything())
  ])
  const read = (/** @type {import('../stack/doors.js').Entrance} */ entrance) => readThrough(entrance, path)
  const counted = async () => (await readCounters(wikiUrls)).requests
  const edges = entrancesOf(door).map((entrance) => ({
    entrance,
    observed: /** @type {string[]} */ ([]),
    warmUp: /** @type {import('./warm-cache.js').CacheWarmUp | null} */ (null)
  }))
  await purge()
  await counted()
  for (const { entrance, observed } of edges) observed.push(await read(entrance), await read(entrance))
  let reached = await counted()
  await purge()
  if (stores && warmCache !== undefined) {
    for (const edge of edges) edge.warmUp = await countWarmUp(() => warmCache(edge.entrance), counted)
  }
  for (const { entrance, observed } of edges) observed.push(await read(entrance))
  reached += await counted()
  const isCold = (/** @type {string[]} */ observed) => stores
    ? observed.join() === 'MISS,HIT,MISS'
    : observed.every((status) => status === '' || status === 'BYPASS')
  const cold = edges.every(({ observed }) => isCold(observed)) && reached === (stores ? 2 : 3) * edges.length
  const warmUps = edges.flatMap(({ warmUp }) => warmUp ?? [])
  return {
    cold,
    observed: edges.flatMap(({ observed }) => observed),
    origin_requests: reached,
    warm_up: warmUps.length === 0 ? null : sumOf(warmUps),
    sentEach: edges.map(({ observed, warmUp }) => observed.length + (warmUp?.requests ?? 0))
  }
}

/**
 * Reads the page or link of the proof.
 * @param {import('../stack/doors.js').Entrance} entrance
 * @param {string} path
 * @returns {Promise<string>} its cache status
 */
async function readThrough ({ url, headers: { host }, caFile }, path) {
  const { headers } = await request(`${url}${path}`, { headers: { host }, caFile })
  return cacheStatusOf((name) => headers[name]?.toString())
}

/** @param {import('./warm-cache.js').CacheWarmUp[]} each */
const sumOf = (each) => each.reduce((total, one) => ({
  requests: total.requests + one.requests,
  origin_requests: total.origin_requests + one.origin_requests
}))

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
