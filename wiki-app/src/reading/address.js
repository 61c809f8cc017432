import { canonicalName } from '../pages/name.js'

/** @import {FastifyRequest} from 'fastify' */

/** Pages of private spaces are read below it, see spaces/. */
export const IN = '/edit/in'

/** Of a route that ends in `/*`. @param {FastifyRequest} request @throws {Error} 400 */
export const nameIn = (request) => canonicalName(askedName(request))

/** What follows the name in the address of a revision. */
export const REVISION = /^(.+)\/([1-9]\d{0,8})(\/authors)?$/

/**
 * What follows the name of a private space in the address of a file: its hash with an extension, or with its name.
 */
export const FILE = /^(.+?)\/([0-9a-f]{32}(?:\.[a-z]+)?)(?:\/([^/]+))?$/
const OF_FILE = /\/(?:files|picture|delete-picture)\/\*$/

/**
 * The page that an address is about, also that of a revision; the space, in the address of one of its files.
 * @param {FastifyRequest} request @returns {string | undefined} as the client spells it; undefined: of none
 */
export function pageAsked ({ params, routeOptions: { url = '' } }) {
  const { name, '*': rest = name } = /** @type {Record<string, string | undefined>} */ (params)
  if (url.endsWith('/revision/*')) return REVISION.exec(String(rest))?.[1] ?? rest
  return OF_FILE.test(url) ? FILE.exec(String(rest))?.[1] ?? rest : rest
}

/** @param {FastifyRequest} request */
const askedName = ({ params }) => /** @type {{'*': string}} */ (params)['*']

/**
 * Caches compare URLs byte by byte, and would store two spellings separately.
 * @param {FastifyRequest} request @param {string} url  in canonical spelling, without a query
 */
export function isMisspelt (request, url) {
  const asked = request.url.startsWith(`${IN}/`) ? request.url.slice(IN.length) : request.url
  // With scheme and host (RFC 9112 §3.2.2): from a proxy, which stores nothing under it.
  return asked !== url && asked.startsWith('/') && asked.split('?', 1)[0] !== url
}

/** @param {FastifyRequest} request @returns {string} the query with its question mark, '' when there is none */
export const queryOf = ({ url }) => url.includes('?') ? url.slice(url.indexOf('?')) : ''
