const TIMEOUT_MS = 5_000
/** The emulated edge has one zone; Cloudflare's path wants a name for it. */
const ZONE = 'stevec'
/** Cloudflare takes at most so many items in a call; more are sent in several. */
const ITEMS_PER_CALL = 100

/**
 * The purge side of the emulated edge. A nginx role with stock caching knows `purgeEverything` alone.
 * Whatever is purged, no request that starts after the call has returned is answered with it.
 * @param {{url: string, token: string}} control  base URL of the control listener and its bearer token
 */
export function createEdge ({ url, token }) {
  /**
   * Form: https://developers.cloudflare.com/api/resources/cache/methods/purge/
   * @param {object} body
   * @throws {Error} when the edge refuses or does not answer within 5 s
   */
  const purge = async (body) => {
    const response = await fetch(`${url}/client/v4/zones/${ZONE}/purge_cache`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS)
    })
    const answer = /** @type {{success?: boolean, errors?: {message: string}[]}} */ (await response.json())
    if (!answer.success) throw new Error(`the edge refused to purge (${response.status}): ${answer.errors?.[0]?.message}`)
  }

  /**
   * @param {'files' | 'tags' | 'hosts' | 'prefixes'} kind
   * @returns {(items: string[], options?: {soft?: boolean}) => Promise<void>}  soft: mark stale instead of removing
   */
  const purgeItems = (kind) => async (items, { soft = false } = {}) => {
    for (let start = 0; start < items.length; start += ITEMS_PER_CALL) {
      await purge({ [kind]: items.slice(start, start + ITEMS_PER_CALL), ...(soft ? { invalidate_cache: true } : {}) })
    }
  }

  return {
    purgeEverything: () => purge({ purge_everything: true }),
    /** Absolute URLs. */
    purgeUrls: purgeItems('files'),
    /** Of the origin's Cache-Tag. */
    purgeTags: purgeItems('tags'),
    purgeHosts: purgeItems('hosts'),
    /** Host and the beginning of a path, without a scheme. */
    purgePrefixes: purgeItems('prefixes')
  }
}
