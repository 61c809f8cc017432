/**
 * @typedef {object} CachePolicy
 * @property {Record<string, string>} headers  of a page (RFC 9111 §5.2.2, RFC 5861, RFC 9213)
 * @property {string} listControl  Cache-Control of lists
 * @property {number} staleS  the longest that a cache shows the text before an edit, while caches are purged
 * @property {number} unpurgedStaleS  the same while caches are not purged
 * @property {null | 'urls' | 'tags'} purgedBy  what a purge names; null: no purges, copies expire by age
 * @property {number} [boundMs]  caches follow the purge log, and show no text older than that before an edit
 * @property {number} [beyondBoundS]  how much longer a shared cache may show it that follows no log
 */

/**
 * @typedef {object} Lifetimes
 * @property {number} ttlS  freshness lifetime, for the policies that have one
 * @property {number} staleWhileRevalidateS  how long after that a copy may be served while it is revalidated
 * @property {number} staleIfErrorS  how long after that a copy may be served when the wiki does not respond
 * @property {number} cdnTtlS  freshness lifetime in a CDN that every edit purges
 * @property {number} boundMs  for `bounded`
 * @property {number} beyondBoundS  for `bounded`: freshness lifetime in shared caches that follow no log
 */

const ASK_EACH_TIME = 'public, no-cache'
export const NO_COPY = 'private, no-store'
/** A targeted field, RFC 9213. */
const FOLLOWERS_CONTROL = 'stevec-cache-control'
const ALWAYS_NEW = Object.freeze({ staleS: 0, unpurgedStaleS: 0, purgedBy: null })

/**
 * Not `s-maxage`: shared proxies that are never purged would use it, too (docs/decisions/0011).
 * @param {'urls' | 'tags'} purgedBy
 */
const purged = (purgedBy) => (/** @type {Lifetimes} */ { cdnTtlS }) => ({
  headers: { 'cache-control': ASK_EACH_TIME, 'cdn-cache-control': `max-age=${cdnTtlS}` },
  listControl: ASK_EACH_TIME,
  staleS: 0,
  unpurgedStaleS: cdnTtlS,
  purgedBy
})

/**
 * For all caches that follow no log, so in a field that all of them know (docs/decisions/0077). Browsers still ask each
 * time.
 * @param {number} beyondBoundS
 */
const unfollowed = (beyondBoundS) =>
  beyondBoundS === 0 ? ASK_EACH_TIME : `public, max-age=0, s-maxage=${beyondBoundS}, must-revalidate`

// Authors look in lists for what they just wrote.
/** @satisfies {Record<string, (lifetimes: Lifetimes) => CachePolicy>} */
const POLICIES = {
  ttl: ({ ttlS }) => ({
    headers: { 'cache-control': `public, max-age=${ttlS}` },
    listControl: ASK_EACH_TIME,
    staleS: ttlS,
    unpurgedStaleS: ttlS,
    purgedBy: null
  }),
  'ttl-swr': ({ ttlS, staleWhileRevalidateS: windowS }) => ({
    headers: { 'cache-control': `public, max-age=${ttlS}, stale-while-revalidate=${windowS}` },
    listControl: ASK_EACH_TIME,
    staleS: ttlS + windowS,
    unpurgedStaleS: ttlS + windowS,
    purgedBy: null
  }),
  'purge-url': purged('urls'),
  'purge-tag': purged('tags'),
  // Only caches that follow the purge log know this field (docs/decisions/0075); no other one can keep the bound.
  bounded: ({ cdnTtlS, boundMs, beyondBoundS }) => ({
    headers: { 'cache-control': unfollowed(beyondBoundS), [FOLLOWERS_CONTROL]: `max-age=${cdnTtlS}` },
    listControl: ASK_EACH_TIME,
    staleS: boundMs / 1000 + beyondBoundS,
    unpurgedStaleS: boundMs / 1000 + beyondBoundS,
    purgedBy: 'tags',
    boundMs,
    beyondBoundS
  }),
  revalidate: () => ({ headers: { 'cache-control': ASK_EACH_TIME }, listControl: ASK_EACH_TIME, ...ALWAYS_NEW }),
  'no-store': () => ({ headers: { 'cache-control': NO_COPY }, listControl: NO_COPY, ...ALWAYS_NEW })
}

/** @typedef {keyof typeof POLICIES} CachePolicyName */

export const CACHE_POLICY_NAMES = /** @type {CachePolicyName[]} */ (Object.keys(POLICIES))

/** Where the wiki has its purge log under `bounded`. */
export const PURGE_LOG_URL = '/purge-log'

/** Whether caches follow the purge log. @param {string | undefined} name */
export const isFollowed = (name) => name === 'bounded'

/** @param {string} name @returns {boolean} */
export const needsPurges = (name) => name === 'purge-url' || name === 'purge-tag'

/** @param {CachePolicyName} name @param {Lifetimes} lifetimes @returns {CachePolicy} */
export function cachePolicy (name, lifetimes) {
  const policy = POLICIES[name](lifetimes)
  if (name === 'no-store' || lifetimes.staleIfErrorS === 0) return policy
  // CDNs that read CDN-Cache-Control ignore Cache-Control (RFC 9213 §2.2).
  const headers = Object.fromEntries(
    Object.entries(policy.headers).map(([field, value]) =>
      [field, `${value}, stale-if-error=${lifetimes.staleIfErrorS}`])
  )
  return { ...policy, headers }
}
