import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from './door.js'

const LATENCY_MAX_MS = 30_000
const POLL_MS = 20
const NEXT_STEP = 'check that the token may purge (Cache Purge), and that the purged URL is exactly the one that clients request'

/** @typedef {'url' | 'tag' | 'host' | 'prefix' | 'everything'} PurgeKind */
/** @typedef {import('./verify.js').CheckDefinition} CheckDefinition */

/**
 * Returns a check for each kind of purge: a page that was a HIT must stop being one.
 * @param {object} options
 * @param {import('./verify.js').Doors} options.doors
 * @param {import('./purge.js').Purge} options.purge
 * @param {import('node:http').IncomingHttpHeaders} options.headers  of the page at the origin
 * @param {boolean} options.everything  also purge the whole zone
 * @returns {CheckDefinition[]}
 */
export function purgeChecks ({ doors: { urls, page }, purge, headers, everything }) {
  const tag = String(headers['cache-tag'] ?? '').split(',')[0].trim()
  const host = new URL(urls.cached).hostname
  return [
    purgeCheck('url', (url) => purge.purgeUrls([url])),
    tag === '' ? skipped('tag', 'the origin sends no Cache-Tag') : purgeCheck('tag', () => purge.purgeTags([tag])),
    purgeCheck('prefix', () => purge.purgePrefixes([`${host}${page}`])),
    purgeCheck('host', () => purge.purgeHosts([host])),
    everything
      ? purgeCheck('everything', () => purge.purgeEverything())
      : skipped('everything', 'it would empty the cache of the whole zone; --everything does it')
  ]
}

const headOf = (/** @type {PurgeKind} */ kind) => ({ id: `purge_${kind}`, title: `a purge by ${kind} works` })

/**
 * @param {PurgeKind} kind
 * @param {string} reason
 * @returns {CheckDefinition}
 */
const skipped = (kind, reason) => ({
  ...headOf(kind),
  todo: reason,
  observe: async () => ({ ok: null, saw: 'not tried' })
})

/**
 * @param {PurgeKind} kind
 * @param {(url: string) => Promise<void>} purge
 * @returns {CheckDefinition}
 */
const purgeCheck = (kind, purge) => ({
  ...headOf(kind),
  todo: NEXT_STEP,
  async observe ({ unseenUrl }) {
    const url = unseenUrl()
    await ask(url)
    const { cacheStatus } = await ask(url)
    if (cacheStatus !== 'HIT') {
      return { ok: false, saw: `nothing to purge: the second read was ${cacheStatus || 'without CF-Cache-Status'}` }
    }
    await purge(url)
    const latencyMs = await purgeLatency(url)
    return {
      ok: latencyMs !== null,
      saw: latencyMs === null
        ? `still a HIT ${LATENCY_MAX_MS / 1000} s after the answer`
        : `the first answer that was no HIT began ${Math.round(latencyMs)} ms after the purge was answered`
    }
  }
})

/**
 * @param {string} url
 * @returns {Promise<number | null>} milliseconds until the start of the first request that is no HIT; null: none
 *   within 30 s
 */
async function purgeLatency (url) {
  const startedAt = performance.now()
  while (performance.now() - startedAt < LATENCY_MAX_MS) {
    const sentAt = performance.now()
    const { cacheStatus } = await ask(url)
    if (cacheStatus !== 'HIT') return sentAt - startedAt
    await sleep(POLL_MS)
  }
  return null
}
