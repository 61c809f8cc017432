/**
 * How long caches may answer for the wiki, by name of the policy.
 * @typedef {object} CachePolicy
 * @property {string} cacheControl  value of the Cache-Control header of a page (RFC 9111 §5.2.2, RFC 5861)
 * @property {string} listControl  the same for what shows many pages at once
 * @property {number} staleS  for how many seconds after an edit a cache may still show the previous text, while the wiki answers
 */

/**
 * @typedef {object} Lifetimes
 * @property {number} ttlS  freshness lifetime, for the policies that have one
 * @property {number} staleWhileRevalidateS  for how long after it a cache may answer while it asks again, for the policies that allow it
 * @property {number} staleIfErrorS  for how long after it a cache may answer when the wiki does not; 0: not at all
 */

// Any edit can change a list. A copy of one is checked with the wiki each time, so that authors find there what they just wrote.
const POLICIES = {
  ttl: (/** @type {Lifetimes} */ { ttlS }) => ({ cacheControl: `public, max-age=${ttlS}`, listControl: 'public, no-cache', staleS: ttlS }),
  'ttl-swr': (/** @type {Lifetimes} */ { ttlS, staleWhileRevalidateS: windowS }) => ({
    cacheControl: `public, max-age=${ttlS}, stale-while-revalidate=${windowS}`, listControl: 'public, no-cache', staleS: ttlS + windowS
  }),
  revalidate: () => ({ cacheControl: 'public, no-cache', listControl: 'public, no-cache', staleS: 0 }),
  'no-store': () => ({ cacheControl: 'private, no-store', listControl: 'private, no-store', staleS: 0 })
}

/** @typedef {keyof typeof POLICIES} CachePolicyName */

export const CACHE_POLICY_NAMES = /** @type {CachePolicyName[]} */ (Object.keys(POLICIES))

/**
 * @param {CachePolicyName} name
 * @param {Lifetimes} lifetimes
 * @returns {CachePolicy}
 */
export function cachePolicy (name, lifetimes) {
  const policy = POLICIES[name](lifetimes)
  const onError = lifetimes.staleIfErrorS > 0 && name !== 'no-store' ? `, stale-if-error=${lifetimes.staleIfErrorS}` : ''
  return { ...policy, cacheControl: policy.cacheControl + onError }
}
