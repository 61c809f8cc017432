import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '@stevec/cdn/cloudflare/door'
import { readCounter } from '../lab/counter.js'

const PURGED_MAX_MS = 30_000
const POLL_MS = 50
/** A point of presence has several machines; a page is a HIT at the third or fourth read at the latest. */
const WARM_READS_MAX = 10
/** Cache statuses that mean "not from a cache" at a door without a cache. */
const UNCACHED = ['', 'BYPASS', 'DYNAMIC']

/** @typedef {import('../lab/cold.js').ColdProof & {purge_ms: number | null, pop: string | null}} ZoneColdProof */

/**
 * Gives a run what it needs of a zone on Cloudflare: doors, cold caches without a restart, and the counter at the
 * origin.
 * @param {object} options
 * @param {import('@stevec/cdn/cloudflare/verify').DoorUrls} options.doors
 * @param {import('@stevec/cdn/cloudflare/purge').Purge} options.purge
 */
export function createCloudflareTarget ({ doors: urls, purge }) {
  return {
    /** @returns {Record<'cached' | 'nocache' | 'source', import('../stack/doors.js').Door>} */
    doors: () => ({
      cached: { url: urls.cached, caching: true, path: 'Cloudflare (caching) → origin → wiki', several_caches: true },
      nocache: { url: urls.nocache, caching: false, path: 'Cloudflare (no caching) → origin → wiki' },
      source: { url: urls.source, caching: false, path: 'origin → wiki' }
    }),

    /** Goes through `source`; each reading resets the counter to 0. */
    readCounter: () => readCounter(urls.source),

    /**
     * Purges Cloudflare's cache of the door `cached` and proves it: a page that was a HIT just before no longer is one.
     * Leaves the counter at 0.
     * @param {'cached' | 'nocache' | 'source'} door
     * @param {string} probePath  a page that no plan requests
     * @param {{hits?: boolean}} [options]  hits: whether the wiki lets caches answer without asking it, so that a HIT
     *   can disappear
     * @returns {Promise<ZoneColdProof>}
     */
    async purgeAndProveCold (door, probePath, { hits = true } = {}) {
      /** @type {string[]} */
      const observed = []
      /** @type {string | null} */
      let pop = null
      const read = async () => {
        const answer = await ask(urls[door] + probePath)
        observed.push(answer.cacheStatus)
        pop = answer.pop ?? pop
        return answer.cacheStatus
      }
      const { hostname } = new URL(urls.cached)
      await readCounter(urls.source)
      if (door !== 'cached' || !hits) {
        // Cloudflare counts purges, so a door without a cache gets none.
        if (door === 'cached') await purge.purgeHosts([hostname])
        await read()
        await read()
        const { requests } = await readCounter(urls.source)
        const uncached = door === 'cached'
          ? !observed.includes('HIT')
          : observed.every((status) => UNCACHED.includes(status))
        return { cold: uncached && requests === 2, observed, origin_requests: requests, purge_ms: null, pop }
      }
      let warm = false
      for (let time = 0; time < WARM_READS_MAX && !warm; time++) warm = await read() === 'HIT'
      await purge.purgeHosts([hostname])
      const purgedAt = performance.now()
      let last = await read()
      while (last === 'HIT' && performance.now() - purgedAt < PURGED_MAX_MS) {
        await sleep(POLL_MS)
        last = await read()
      }
      const purgeMs = Math.round(performance.now() - purgedAt)
      const { requests } = await readCounter(urls.source)
      return {
        cold: warm && last === 'MISS' && requests === observed.filter((status) => status !== 'HIT').length,
        observed,
        origin_requests: requests,
        purge_ms: purgeMs,
        pop
      }
    }
  }
}

/** @typedef {ReturnType<typeof createCloudflareTarget>} CloudflareTarget */
