import { request } from '@stevec/harness/request'
import { cacheStatusOf } from '../../scenarios/cache-status.js'
import { linkPath } from '../../scenarios/short-links.js'
import { WARM_UP_PAGES, warmUpPageName } from './warm-up-pages.js'

/** The first is a miss, the others are hits. */
const READS_OF_EACH = 10
const READ_WITHIN_MS = 60_000

/** @typedef {{requests: number, origin_requests: number}} CacheWarmUp */

/**
 * Sends an emptied cache its first requests, which would otherwise be a trial's: a cache that was started again has no
 * connection to its origin, and its first miss took twice as long as the next. Reads all pages at once, and each ten
 * times in a row. Far from the cache, copies may expire meanwhile, and the cache would renew them beside the trial's
 * requests: so no read begins that would end after the lifetime, and a page's reads end with the first one that is no
 * hit.
 * @param {object} options
 * @param {string} options.url  of the door, or of one of its edges
 * @param {Record<string, string>} [options.headers]  of each request
 * @param {string} [options.caFile]  see request
 * @param {import('../../scenarios/short-links.js').Resource} [options.resource]  default: pages; short links have the
 *   names of the warm-up's pages as ids
 * @param {number} options.lifetimeS  for which copies are fresh
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<CacheWarmUp>} `origin_requests`: one for each response that was no hit; one after a stale copy may
 *   still be under way
 * @throws {Error} when a page or link of the warm-up does not exist
 */
export async function warmCache ({ url, headers = {}, caFile, resource = 'page', lifetimeS, signal }) {
  const pathOf = (/** @type {string} */ name) => resource === 'page' ? `/wiki/${name}` : linkPath('GET', name)
  const pages = await Promise.all(Array.from({ length: WARM_UP_PAGES }, (_, page) =>
    readInARow({ url: `${url}${pathOf(warmUpPageName(page))}`, headers, caFile }, lifetimeS, signal)))
  const sum = (/** @type {keyof CacheWarmUp} */ name) => pages.reduce((total, page) => total + page[name], 0)
  return { requests: sum('requests'), origin_requests: sum('origin_requests') }
}

/**
 * @param {{url: string, headers: Record<string, string>, caFile?: string}} page  its address
 * @param {number} lifetimeS
 * @param {AbortSignal} [signal]
 * @returns {Promise<CacheWarmUp>}
 */
async function readInARow ({ url, headers: sent, caFile }, lifetimeS, signal) {
  const beganAt = performance.now()
  const found = { requests: 0, origin_requests: 0 }
  let endsAt
  do {
    const sentAt = performance.now()
    const { status, headers } = await request(url, { headers: sent, caFile, timeoutMs: READ_WITHIN_MS, signal })
    if (status !== 200 && status !== 302) throw new Error(`${url} answered ${status} when the cache was warmed up`)
    found.requests += 1
    if (cacheStatusOf((name) => headers[name]?.toString()) !== 'HIT') found.origin_requests += 1
    // The next read may take twice as long.
    endsAt = performance.now() + 2 * (performance.now() - sentAt)
  } while (found.requests < READS_OF_EACH && found.origin_requests <= 1 && endsAt < beganAt + 1000 * lifetimeS)
  return found
}
