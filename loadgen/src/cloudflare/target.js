import { setTimeout as sleep } from 'node:timers/promises'
import { ask, fromHeaders } from '@stevec/cdn/cloudflare/door'

export const MAX_REQUESTS = 50_000
const PURGED_MAX_MS = 30_000
const POLL_MS = 50
/** Points of presence have several machines; a page is a HIT at the third or fourth read at the latest. */
const WARM_READS_MAX = 10

/**
 * What a run needs of the thing that it measures, where that is a zone on Cloudflare instead of a stack of its own: doors, cold caches without a restart,
 * the counter at the origin, and a budget.
 * @param {object} options
 * @param {import('@stevec/cdn/cloudflare/verify').DoorUrls} options.doors
 * @param {import('@stevec/cdn/cloudflare/purge').Purge} options.purge
 * @param {number} [options.maxRequests]
 */
export function createCloudflareTarget ({ doors: urls, purge, maxRequests = MAX_REQUESTS }) {
  async function readCounter () {
    const { status, body } = await ask(`${urls.source}/wiki/stevec`)
    if (status !== 200) throw new Error(`the counter at ${urls.source} answered ${status}`)
    return /** @type {import('../lab/counter.js').Counter} */ (JSON.parse(body))
  }

  return {
    /** @returns {Record<'cached' | 'nocache' | 'source', import('../stack/doors.js').Door>} */
    doors: () => ({
      cached: { url: urls.cached, caching: true, path: 'Cloudflare (caching) → origin → wiki' },
      nocache: { url: urls.nocache, caching: false, path: 'Cloudflare (no caching) → origin → wiki' },
      source: { url: urls.source, caching: false, path: 'origin → wiki' }
    }),

    /**
     * @param {number} requests  that the whole run will send
     * @throws {Error}
     */
    checkBudget (requests) {
      if (requests > maxRequests) throw new Error(`the run would send ${requests} requests to Cloudflare, and the budget is ${maxRequests}; choose a smaller preset, or raise --max-requests`)
    },

    /** Through `source`: sets it to 0. */
    readCounter,

    /**
     * Empties what Cloudflare has of the door `cached`, and proves it: a page that was a HIT just before is one no longer. Leaves the counter at 0.
     * @param {'cached' | 'nocache' | 'source'} door
     * @param {string} probePath  a page that no plan asks for
     * @returns {Promise<{cold: boolean, observed: string[], origin_requests: number, purge_ms: number | null, pop: string | null}>}
     */
    async purgeAndProveCold (door, probePath) {
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
      await readCounter()
      if (door !== 'cached') {
        await read()
        await read()
        await purge.purgeHosts([new URL(urls.cached).hostname])
        await read()
        const { requests } = await readCounter()
        return { cold: observed.every((status) => ['', 'BYPASS', 'DYNAMIC'].includes(status)) && requests === 3, observed, origin_requests: requests, purge_ms: null, pop }
      }
      let warm = false
      for (let time = 0; time < WARM_READS_MAX && !warm; time++) warm = await read() === 'HIT'
      await purge.purgeHosts([new URL(urls.cached).hostname])
      const purgedAt = performance.now()
      let last = await read()
      while (last === 'HIT' && performance.now() - purgedAt < PURGED_MAX_MS) {
        await sleep(POLL_MS)
        last = await read()
      }
      const { requests } = await readCounter()
      return { cold: warm && last === 'MISS' && requests === observed.filter((status) => status !== 'HIT').length, observed, origin_requests: requests, purge_ms: Math.round(performance.now() - purgedAt), pop }
    },

    /** @param {Record<string, string | string[] | undefined>} headers  of an answer; the place is for the samples */
    popOf: (headers) => fromHeaders(headers).pop
  }
}

/** @typedef {ReturnType<typeof createCloudflareTarget>} CloudflareTarget */
