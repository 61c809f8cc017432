/**
 * How long caches may answer for the wiki, by name of the policy.
 * @typedef {object} CachePolicy
 * @property {Record<string, string>} headers  what a page says to caches: Cache-Control (RFC 9111 §5.2.2, RFC 5861), and CDN-Cache-Control (RFC 9213) where that differs
 * @property {string} listControl  Cache-Control of what shows many pages at once
 * @property {number} staleS  for how many seconds after an edit a cache may still show the previous text, while the wiki answers and caches hear of edits
 * @property {number} untoldStaleS  the same while caches do not hear of edits
 * @property {null | 'urls' | 'tags'} purgedBy  what caches must be told of each edit for that; null: nothing, copies live out their time
 */

/**
 * @typedef {object} Lifetimes
 * @property {number} ttlS  freshness lifetime, for the policies that have one
 * @property {number} staleWhileRevalidateS  for how long after it a cache may answer while it asks again, for the policies that allow it
 * @property {number} staleIfErrorS  for how long after it a cache may answer when the wiki does not; 0: not at all
 * @property {number} cdnTtlS  freshness lifetime in a CDN that is told of every edit
 */

const ASK_EACH_TIME = 'public, no-cache'
const NO_COPY = 'private, no-store'
const ALWAYS_NEW = Object.freeze({ staleS: 0, untoldStaleS: 0, purgedBy: null })

/**
 * Who is told of edits keeps a page for long; everybody else asks each time. `s-maxage` would let any shared proxy keep it that nobody tells, so the lifetime is
 * in the field that only CDNs read (docs/decisions/0011).
 * @param {'urls' | 'tags'} purgedBy
 */
const purged = (purgedBy) => (/** @type {Lifetimes} */ { cdnTtlS }) => ({
  headers: { 'cache-control': ASK_EACH_TIME, 'cdn-cache-control': `max-age=${cdnTtlS}` },
  listControl: ASK_EACH_TIME,
  staleS: 0,
  untoldStaleS: cdnTtlS,
  purgedBy
})

// Any edit can change a list. A copy of one is checked with the wiki each time, so that authors find there what they just wrote.
/** @satisfies {Record<string, (lifetimes: Lifetimes) => CachePolicy>} */
const POLICIES = {
  ttl: ({ ttlS }) => ({
    headers: { 'cache-control': `public, max-age=${ttlS}` },
    listControl: ASK_EACH_TIME,
    staleS: ttlS,
    untoldStaleS: ttlS,
    purgedBy: null
  }),
  'ttl-swr': ({ ttlS, staleWhileRevalidateS: windowS }) => ({
    headers: { 'cache-control': `public, max-age=${ttlS}, stale-while-revalidate=${windowS}` },
    listControl: ASK_EACH_TIME,
    staleS: ttlS + windowS,
    untoldStaleS: ttlS + windowS,
    purgedBy: null
  }),
  'purge-url': purged('urls'),
  'purge-tag': purged('tags'),
  revalidate: () => ({ headers: { 'cache-control': ASK_EACH_TIME }, listControl: ASK_EACH_TIME, ...ALWAYS_NEW }),
  'no-store': () => ({ headers: { 'cache-control': NO_COPY }, listControl: NO_COPY, ...ALWAYS_NEW })
}

/** @typedef {keyof typeof POLICIES} CachePolicyName */

export const CACHE_POLICY_NAMES = /** @type {CachePolicyName[]} */ (Object.keys(POLICIES))

/**
 * @param {string} name
 * @returns {boolean} whether caches have to be told of edits under the policy of this name
 */
export const needsPurges = (name) => name === 'purge-url' || name === 'purge-tag'

/**
 * @param {CachePolicyName} name
 * @param {Lifetimes} lifetimes
 * @returns {CachePolicy}
 */
export function cachePolicy (name, lifetimes) {
  const policy = POLICIES[name](lifetimes)
  if (name === 'no-store' || lifetimes.staleIfErrorS === 0) return policy
  // A CDN that is addressed by a field of its own does not look at Cache-Control (RFC 9213 §2.2).
  const headers = Object.fromEntries(Object.entries(policy.headers).map(([field, value]) => [field, `${value}, stale-if-error=${lifetimes.staleIfErrorS}`]))
  return { ...policy, headers }
}
