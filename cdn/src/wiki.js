import { createClient } from './cloudflare/client.js'
import { createPurge } from './cloudflare/purge.js'

export { parseApiUrl } from './cloudflare/api-url.js'
export { readToken } from './cloudflare/token.js'

/**
 * Returns the wiki's purge function. It purges URLs of one host, and Cache-Tags, from the caches of one zone.
 * @param {object} options
 * @param {string} options.token
 * @param {string} [options.apiUrl]  of Cloudflare or of a server with the same purge API, such as the emulated edge
 * @param {string} options.zoneId
 * @param {string} options.publicUrl  the wiki's scheme and host, as visitors request it
 * @returns {Promise<
 *   (stale: {everything: true} | {everything: false, urls: string[], tags: string[]}) => Promise<void>
 * >}
 *   everything: of this host. Rejects with a CloudflareError; its `refused` and `retryAfterMs` give the next step.
 */
export async function createPurgeOf ({ token, apiUrl, zoneId, publicUrl }) {
  // Few attempts: the caller has a queue and retries later.
  const client = createClient({ token, apiUrl, attemptsMax: 2, waitMaxMs: 2_000 })
  await client.load()
  const { purge, purgeHosts } = createPurge({ client, zoneId })
  const { origin, hostname } = new URL(publicUrl)
  return (stale) => stale.everything
    ? purgeHosts([hostname])
    : purge(stale.urls.map((path) => origin + path), stale.tags)
}
