// The cache status of a response, in one vocabulary. Node and k6 both run this file: no APIs of either.

/**
 * Traffic Server's words (header_rewrite, %{CACHE}). It validates stale copies with the origin before it responds.
 * @type {Record<string, string>}
 */
const WORDS = { 'hit-fresh': 'HIT', 'hit-stale': 'EXPIRED', miss: 'MISS', skipped: 'BYPASS', none: 'BYPASS' }

/**
 * @param {(name: string) => string | undefined} header  by lower-case name
 * @returns {string} in Cloudflare's words: HIT, MISS, EXPIRED …; '' without a cache status
 */
export function cacheStatusOf (header) {
  const said = header('cf-cache-status') || header('x-cache-status')
  if (said) return WORDS[said] ?? said
  // Squid: "HIT from host".
  return /^(HIT|MISS)\b/.exec(header('x-cache') ?? '')?.[1] ?? ''
}
