/**
 * On every plan, in one call.
 * https://developers.cloudflare.com/cache/how-to/purge-cache/#availability-and-limits
 */
const ITEMS_PER_CALL = 100

/** @typedef {'files' | 'tags' | 'hosts' | 'prefixes'} PurgeKind */

/**
 * Purges through Cloudflare's API, at Cloudflare or at any server that speaks it. Calls are idempotent.
 * On a rate limit (429) the client waits and retries.
 * @param {object} options
 * @param {import('./client.js').Client} options.client
 * @param {string} options.zoneId
 */
export function createPurge ({ client, zoneId }) {
  /**
   * @param {string} what
   * @param {any} body
   * @param {boolean} soft
   */
  const send = async (what, body, soft) => {
    const params = { zone_id: zoneId, ...body }
    await client.call(`${soft ? 'invalidate' : 'purge'} ${what}`, (api, options) =>
      soft ? api.cache.invalidate(params, options) : api.cache.purge(params, options)
    )
  }

  /**
   * @param {PurgeKind} kind
   * @param {string} what
   * @returns {(items: string[], options?: {soft?: boolean}) => Promise<void>}  soft: mark stale instead of removing
   */
  const ofKind = (kind, what) => async (items, { soft = false } = {}) => {
    const unique = [...new Set(items)]
    for (let start = 0; start < unique.length; start += ITEMS_PER_CALL) {
      const batch = unique.slice(start, start + ITEMS_PER_CALL)
      await send(`${batch.length} ${what}`, { [kind]: batch }, soft)
    }
  }

  const purgeUrls = ofKind('files', 'URLs')
  const purgeTags = ofKind('tags', 'tags')
  const purgeHosts = ofKind('hosts', 'hosts')
  const purgePrefixes = ofKind('prefixes', 'prefixes')
  return {
    /** Of the whole zone, including content that is not ours. */
    purgeEverything: () => send('everything', { purge_everything: true }, false),
    /** Absolute URLs. */
    purgeUrls,
    /** Tags from the origin's Cache-Tag header. */
    purgeTags,
    purgeHosts,
    /** Host and start of the path, without a scheme. */
    purgePrefixes,
    /**
     * @param {string[]} urls
     * @param {string[]} [tags]
     */
    async purge (urls, tags = []) {
      await purgeUrls(urls)
      await purgeTags(tags)
    }
  }
}

/** @typedef {ReturnType<typeof createPurge>} Purge */
