import { choice, integer, listed } from '../setting-readers.js'
import { CACHE_POLICY_NAMES } from './cache-policy.js'

const YEAR_S = 31_536_000

/** How caches may store pages; a part of ../settings.js. */
export const CACHE_SETTINGS = {
  CACHE_POLICY: choice(CACHE_POLICY_NAMES, {
    default: 'ttl',
    does: `how caches may store pages, see below: ${listed(CACHE_POLICY_NAMES)}`
  }),
  CACHE_TTL_S: integer(0, YEAR_S, {
    default: 180,
    allowed: 'a whole number of seconds from 0 to 31536000 (a year)',
    does: 'for `ttl` and `ttl-swr`: how long caches may serve a copy'
  }),
  CACHE_STALE_WHILE_REVALIDATE_S: integer(0, YEAR_S, {
    default: 60,
    allowed: 'a whole number of seconds from 0 to 31536000 (a year)',
    does: 'for `ttl-swr`: how long after that they may serve it while they fetch a new one (RFC 5861)'
  }),
  CACHE_STALE_IF_ERROR_S: integer(0, YEAR_S, {
    default: 0,
    allowed: 'a whole number of seconds from 0 to 31536000 (a year)',
    does: 'how long after that they may serve it while the wiki does not answer (RFC 5861)'
  }),
  // How long a lost purge leaves an old page in the CDN.
  CACHE_CDN_TTL_S: integer(1, YEAR_S, {
    default: 86_400,
    allowed: 'a whole number of seconds from 1 to 31536000 (a year)',
    does: 'for `purge-url`, `purge-tag` and `bounded`: how long a cache that gets purges may serve a copy'
  }),
  CACHE_BOUND_MS: integer(100, 60_000, {
    default: 500,
    allowed: 'a whole number of milliseconds from 100 to 60000',
    does: 'for `bounded`: how old a text may be, beside the newest one that is saved, in every cache'
  }),
  CACHE_BEYOND_BOUND_S: integer(0, YEAR_S, {
    default: 0,
    allowed: 'a whole number of seconds from 0 (they ask each time) to 31536000 (a year)',
    does: 'for `bounded`: how long a shared cache that does not follow the purge log may serve a copy, beyond the bound'
  })
}
