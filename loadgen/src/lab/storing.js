/**
 * Whether the cache at a door stores pages under the trial's policy. Neither Cloudflare nor nginx stores `no-cache`
 * responses, which need a revalidation each time, though RFC 9111 §5.2.2.4 allows it. The proxy at `local` ignores a
 * lifetime for CDNs (RFC 9213), and does not follow the purge log.
 * @param {import('../stack/doors.js').Door} door
 * @param {Pick<import('./definition.js').Settings, 'door' | 'policy' | 'ttl_s' | 'stale_while_revalidate_s'>} settings
 */
export function storesPages ({ caching }, { door, policy, ttl_s: ttl, stale_while_revalidate_s: window }) {
  if (!caching) return false
  switch (policy) {
    case 'ttl': return ttl > 0
    case 'ttl-swr': return ttl + window > 0
    case 'purge-url':
    case 'purge-tag':
    case 'bounded': return door === 'cached'
    default: return false
  }
}
