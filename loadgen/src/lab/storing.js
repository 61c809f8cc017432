/**
 * Whether the cache at a door stores pages under the trial's policy. Neither Cloudflare nor nginx stores `no-cache`
 * responses, which need a revalidation each time, though RFC 9111 §5.2.2.4 allows it. The proxy at `local` ignores a
 * lifetime for CDNs (RFC 9213), and does not follow the purge log.
 * @param {import('../stack/doors.js').Door} door
 * @param {Pick<import('./definition.js').Settings,
 *   'door' | 'policy' | 'ttl_s' | 'stale_while_revalidate_s' | 'beyond_bound_s'>} settings
 */
export function storesPages ({ caching }, settings) {
  if (!caching) return false
  switch (settings.policy) {
    case 'ttl': return settings.ttl_s > 0
    case 'ttl-swr': return settings.ttl_s + settings.stale_while_revalidate_s > 0
    case 'purge-url':
    case 'purge-tag': return settings.door === 'cached'
    case 'bounded': return settings.door === 'cached' || settings.beyond_bound_s > 0
    default: return false
  }
}

/**
 * A lifetime that the copies at the trial's door have at least.
 * @param {Pick<import('./definition.js').Settings, 'door' | 'policy' | 'ttl_s' | 'beyond_bound_s'>} settings
 */
export const lifetimeOf = ({ door, policy, ttl_s: ttlS, beyond_bound_s: beyondBoundS }) =>
  policy === 'bounded' && door !== 'cached' ? beyondBoundS : ttlS
