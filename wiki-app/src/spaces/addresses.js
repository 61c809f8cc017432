import { IN, queryOf } from '../reading/address.js'

/** @import {FastifyRequest} from 'fastify' */

export const SPACES_URL = '/edit/spaces'
export const GROUPS_URL = '/edit/groups'
export const SPACE_PAGES_URL = `${IN}/pages`
export const SPACE_CHANGES_URL = `${IN}/changes`

/** @param {string} space */
export const spacePagesUrl = (space) => `${SPACE_PAGES_URL}?${new URLSearchParams({ space })}`

/** @param {string} space */
export const spaceChangesUrl = (space) => `${SPACE_CHANGES_URL}?${new URLSearchParams({ space })}`

/**
 * Where members read what the public address does not show.
 * @param {FastifyRequest} request @param {string} [path]  of its public address
 */
export const withinUrl = (request, path = pathOf(request)) => IN + path + queryOf(request)

/** Without scheme and host, which a request from a proxy may have. @param {FastifyRequest} request */
const pathOf = ({ url }) => url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]
