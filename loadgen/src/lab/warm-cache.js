import { request } from '@stevec/harness/request'
import { WARM_UP_PAGES, warmUpPageName } from './warm-up-pages.js'

/** The first is a miss, the others are hits. */
const READS_OF_EACH = 10
const READ_WITHIN_MS = 60_000

/** @typedef {{requests: number, origin_requests: number}} CacheWarmUp */

/**
 * Sends an emptied cache its first requests, which would otherwise be a trial's: a cache that was started again has no
 * connection to its origin, and its first miss took twice as long as the next. Reads all pages at once, and each ten
 * times in a row, so that copies do not expire meanwhile.
 * @param {{url: string}} door
 * @returns {Promise<number>} requests sent
 * @throws {Error} when a page of the warm-up does not exist
 */
export async function warmCache ({ url }) {
  await Promise.all(Array.from({ length: WARM_UP_PAGES }, async (_, page) => {
    const name = warmUpPageName(page)
    for (let time = 0; time < READS_OF_EACH; time++) {
      const { status } = await request(`${url}/wiki/${name}`, { timeoutMs: READ_WITHIN_MS })
      if (status !== 200) throw new Error(`${name} answered ${status} when the cache was warmed up`)
    }
  }))
  return WARM_UP_PAGES * READS_OF_EACH
}
