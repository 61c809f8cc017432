// What a cache says of an answer, in one language. Node and k6 both run this file, so nothing of either may be used here.

/** Traffic Server's words (header_rewrite, %{CACHE}). It asks the origin about what is stale before it answers. @type {Record<string, string>} */
const WORDS = { 'hit-fresh': 'HIT', 'hit-stale': 'EXPIRED', miss: 'MISS', skipped: 'BYPASS', none: 'BYPASS' }

/**
 * @param {(name: string) => string | undefined} header  by its name in lower case
 * @returns {string} in Cloudflare's words: HIT, MISS, EXPIRED …; '' where no cache says anything
 */
export function cacheStatusOf (header) {
  const said = header('cf-cache-status') || header('x-cache-status')
  if (said) return WORDS[said] ?? said
  // Squid: "HIT from host".
  return /^(HIT|MISS)\b/.exec(header('x-cache') ?? '')?.[1] ?? ''
}
