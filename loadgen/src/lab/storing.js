/**
 * Whether what stands at a door keeps a page under the trial's policy. What caches must ask about each time (`no-cache`) neither Cloudflare nor nginx keeps, though
 * they might (RFC 9111 §5.2.2.4); and a lifetime for CDNs (RFC 9213) is nothing to the proxy at `local`.
 * @param {import('../stack/doors.js').Door} door
 * @param {Pick<import('./definition.js').Settings, 'door' | 'policy' | 'ttl_s' | 'stale_while_revalidate_s'>} settings
 */
export function storesPages ({ caching }, { door, policy, ttl_s: ttl, stale_while_revalidate_s: window }) {
  if (!caching) return false
  switch (policy) {
    case 'ttl': return ttl > 0
    case 'ttl-swr': return ttl + window > 0
    case 'purge-url':
    case 'purge-tag': return door === 'cached'
    default: return false
  }
}
