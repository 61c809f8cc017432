import { encodeAttachmentName } from '../files/attachment-name.js'
import { IN, queryOf } from '../reading/address.js'

/** @import {FastifyRequest} from 'fastify' */

export const SPACES_URL = '/edit/spaces'
export const GROUPS_URL = '/edit/groups'
export const SPACE_PAGES_URL = `${IN}/pages`
export const SPACE_CHANGES_URL = `${IN}/changes`
export const SPACE_SEARCH_URL = `${IN}/search`
export const SPACE_EXPORT_URL = `${IN}/export`
/** Of the list, and the beginning of the addresses of its items. */
export const SPACE_FILES_URL = `${IN}/files`

/** @param {string} space */
export const spacePagesUrl = (space) => `${SPACE_PAGES_URL}?${new URLSearchParams({ space })}`

/** @param {string} space @param {string} [before]  id of the last change seen */
export const spaceChangesUrl = (space, before) =>
  `${SPACE_CHANGES_URL}?${new URLSearchParams({ space, ...before !== undefined && { before } })}`

/** @param {string} space @param {{q?: string, after?: string}} [query] */
export const spaceSearchUrl = (space, query = {}) => `${SPACE_SEARCH_URL}?${new URLSearchParams({ space, ...query })}`

/** @param {string} space */
export const spaceExportUrl = (space) => `${SPACE_EXPORT_URL}?${new URLSearchParams({ space })}`

/** The list. @param {string} space  or a page in it */
export const spaceFilesListUrl = (space) => `${SPACE_FILES_URL}?${new URLSearchParams({ space })}`

/** @param {string} space  or a page in it */
export const spaceUploadUrl = (space) => `${IN}/upload/${encodedParts(space)}`

/** Before the name of a file. @param {string} space */
export const spaceFilesUrl = (space) => `${SPACE_FILES_URL}/${encodedParts(space)}`

/** Before the name of a file: where it is named and deleted. @param {string} space */
export const spacePictureUrl = (space) => `${IN}/picture/${encodedParts(space)}`

/** Texts have these addresses, so nothing in them may be a mark of Markdown. @param {string} name */
const encodedParts = (name) => name.split('/').map(encodeAttachmentName).join('/')

/**
 * Where members read what the public address does not show.
 * @param {FastifyRequest} request @param {string} [path]  of its public address
 */
export const withinUrl = (request, path = pathOf(request)) => IN + path + queryOf(request)

/** Without scheme and host, which a request from a proxy may have. @param {FastifyRequest} request */
const pathOf = ({ url }) => url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]
