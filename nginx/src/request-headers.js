/** @typedef {'cloudflare' | 'rfc9111'} Profile */

/**
 * Headers that an application may use for its response although no Vary names them. They are part of the cache key, or
 * one client could choose the response for all others: https://developers.cloudflare.com/cache/how-to/cache-keys/
 */
const KEYED = [
  'x-forwarded-host', 'x-host', 'x-forwarded-scheme', 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-prefix',
  'x-forwarded-server', 'x-original-url', 'x-rewrite-url', 'forwarded',
  'x-http-method-override', 'x-http-method', 'x-method-override'
]

/** With any of these, an answer from the cache needs more than sending the stored response. */
export const SPECIAL = Object.freeze([
  'range', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since', 'cache-control', 'pragma',
  'page-revision-min'
])

/** With any of these, a request has a body. */
const OF_A_BODY = ['content-length', 'transfer-encoding']

/**
 * @param {Profile} profile
 * @returns {string[]} the names of the headers in the cache key, in lower case
 */
export const keyedHeaders = (profile) => profile === 'cloudflare' ? ['origin', ...KEYED] : KEYED

/**
 * @param {Profile} profile
 * @returns {string[]} all of these: the fast path of the edge answers no request that has one of them
 */
export const unusualHeaders = (profile) => [...SPECIAL, ...OF_A_BODY, ...keyedHeaders(profile)]
