import { canonicalName } from './name.js'

/** @import {FastifyRequest} from 'fastify' */

/** The canonical name in the URL of a route that ends in `/*`. @param {FastifyRequest} request @throws {Error} 400 */
export const nameIn = (request) => canonicalName(askedName(request))

/** @param {FastifyRequest} request */
const askedName = ({ params }) => /** @type {{'*': string}} */ (params)['*']

/**
 * Caches compare URLs byte by byte: they would store and purge two spellings of one URL separately.
 * @param {FastifyRequest} request @param {string} url  in canonical spelling, without a query
 */
export function isMisspelt (request, url) {
  // A request target with scheme and host (RFC 9112 §3.2.2) comes from a proxy, which stores nothing under it.
  return request.url !== url && request.url.startsWith('/') && request.url.split('?', 1)[0] !== url
}

/** @param {FastifyRequest} request @returns {string} the query with its question mark, '' when there is none */
export const queryOf = ({ url }) => url.includes('?') ? url.slice(url.indexOf('?')) : ''
