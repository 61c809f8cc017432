import { IN, queryOf } from '../reading/address.js'

/** @import {FastifyRequest} from 'fastify' */

export const SPACES_URL = '/edit/spaces'
export const GROUPS_URL = '/edit/groups'
export const SPACE_PAGES_URL = `${IN}/pages`
export const SPACE_CHANGES_URL = `${IN}/changes`
export const SPACE_SEARCH_URL = `${IN}/search`
export const SPACE_EXPORT_URL = `${IN}/export`

/** @param {string} space */
export const spacePagesUrl = (space) => `${SPACE_PAGES_URL}?${new URLSearchParams({ space })}`

/** @param {string} space @param {{before?: string, skip?: number}} [place]  where the list goes on */
export const spaceChangesUrl = (space, { before, skip = 0 } = {}) => {
  const query = new URLSearchParams({ space, ...before && { before }, ...skip > 0 && { skip: String(skip) } })
  return `${SPACE_CHANGES_URL}?${query}`
}

/** @param {string} space @param {{q?: string, after?: string}} [query] */
export const spaceSearchUrl = (space, query = {}) => `${SPACE_SEARCH_URL}?${new URLSearchParams({ space, ...query })}`

/** @param {string} space */
export const spaceExportUrl = (space) => `${SPACE_EXPORT_URL}?${new URLSearchParams({ space })}`

/**
 * Where members read what the public address does not show.
 * @param {FastifyRequest} request @param {string} [path]  of its public address
 */
export const withinUrl = (request, path = pathOf(request)) => IN + path + queryOf(request)

/** Without scheme and host, which a request from a proxy may have. @param {FastifyRequest} request */
const pathOf = ({ url }) => url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]
