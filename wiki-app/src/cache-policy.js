/**
 * How long caches may answer for the wiki, by name of the policy.
 * @typedef {object} CachePolicy
 * @property {string} cacheControl  value of the Cache-Control header of a page (RFC 9111 §5.2.2)
 * @property {string} listControl  the same for what shows many pages at once
 * @property {number} staleS  for how many seconds after an edit a cache may still show the previous text
 */

// Any edit can change a list. A copy of one is checked with the wiki each time, so that authors find there what they just wrote.
const POLICIES = {
  ttl: (/** @type {number} */ ttlS) => ({ cacheControl: `public, max-age=${ttlS}`, listControl: 'public, no-cache', staleS: ttlS }),
  revalidate: () => ({ cacheControl: 'public, no-cache', listControl: 'public, no-cache', staleS: 0 }),
  'no-store': () => ({ cacheControl: 'private, no-store', listControl: 'private, no-store', staleS: 0 })
}

/** @typedef {keyof typeof POLICIES} CachePolicyName */

export const CACHE_POLICY_NAMES = /** @type {CachePolicyName[]} */ (Object.keys(POLICIES))

/**
 * @param {CachePolicyName} name
 * @param {number} ttlS  freshness lifetime in seconds, for the policy that has one
 * @returns {CachePolicy}
 */
export const cachePolicy = (name, ttlS) => POLICIES[name](ttlS)
