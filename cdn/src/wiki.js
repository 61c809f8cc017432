import { createClient } from './cloudflare/client.js'
import { createPurge } from './cloudflare/purge.js'

export { parseApiUrl } from './cloudflare/api-url.js'
export { readToken } from './cloudflare/token.js'

/**
 * What the wiki hands its purges to: makes the caches of one zone forget URLs of one host, and tags of the wiki's answers.
 * @param {object} options
 * @param {string} options.token
 * @param {string} [options.apiUrl]  of Cloudflare, or of what speaks its purge API, such as the emulated edge
 * @param {string} options.zoneId
 * @param {string} options.publicUrl  scheme and host of the wiki as visitors ask for it
 * @returns {Promise<(stale: {everything: true} | {everything: false, urls: string[], tags: string[]}) => Promise<void>>}
 *   everything: of this host. It rejects with a CloudflareError, whose `refused` and `retryAfterMs` say what to do next.
 */
export async function createPurgeOf ({ token, apiUrl, zoneId, publicUrl }) {
  // Its caller keeps a queue and knows when to come back.
  const client = createClient({ token, apiUrl, attemptsMax: 2, waitMaxMs: 2_000 })
  await client.load()
  const { purge, purgeHosts } = createPurge({ client, zoneId })
  const { origin, hostname } = new URL(publicUrl)
  return (stale) => stale.everything ? purgeHosts([hostname]) : purge(stale.urls.map((path) => origin + path), stale.tags)
}
