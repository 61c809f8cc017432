import { canonicalName } from './name.js'

/**
 * The name that a route ending in `/*` was asked for.
 * @param {import('fastify').FastifyRequest} request
 * @returns {string} canonical
 * @throws {Error} 400 when no page can have it
 */
export const nameIn = (request) => canonicalName(askedName(request))

/** @param {import('fastify').FastifyRequest} request */
const askedName = ({ params }) => /** @type {{'*': string}} */ (params)['*']

/**
 * Whether a request spells an address in another way than we do. Caches tell addresses apart byte by byte: two spellings of one
 * would be kept, and purged, apart.
 * @param {import('fastify').FastifyRequest} request
 * @param {string} url  our own spelling, without a query
 */
export function isMisspelt (request, url) {
  // A request target with scheme and host (RFC 9112 §3.2.2) comes from proxies, which keep nothing under it.
  return request.url !== url && request.url.startsWith('/') && request.url.split('?', 1)[0] !== url
}

/**
 * @param {import('fastify').FastifyRequest} request
 * @returns {string} with its question mark, '' when there is none
 */
export const queryOf = ({ url }) => url.includes('?') ? url.slice(url.indexOf('?')) : ''
