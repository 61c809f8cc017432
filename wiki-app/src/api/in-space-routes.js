import { personIn, spaceIn } from '../access/access.js'
import { NO_COPY } from '../caching/cache-policy.js'
import { excerpt } from '../search/excerpt.js'
import { createSpaceExport } from '../spaces/export-route.js'
import { sendPart } from './answers.js'
import { ANY, limitIn, readCursor } from './cursor.js'
import { addFiles, fileSchemas } from './file-routes.js'
import { change, CHANGE_EXAMPLE, CHANGE_ID } from './history-routes.js'
import { list, otherwise, partQuery, QUERY } from './schemas.js'
import { EXCERPT_EXAMPLE, nameOf, page, wordsIn } from './search-routes.js'
import { OF_SPACES, ofSpace, reading } from './space-schemas.js'

/** @import {FastifyInstance, FastifyRequest} from 'fastify' */
/** @import {Space} from '../spaces/model.js' */
/** @import {SpaceServices} from '../spaces/services.js' */

const TEAM = 'Team'
const params = ofSpace(TEAM)
const PLAN = { name: 'Team/Plan', revision: 1, modified_at: '2026-01-01T10:00:00.000Z' }
const CHANGED = { ...CHANGE_EXAMPLE, name: PLAN.name, revision: 1, follows: null }
const FILES = fileSchemas({ ...OF_SPACES, base: `/edit/in/files/${TEAM}`, params: params.properties })

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  pages: {
    ...OF_SPACES,
    summary: 'List the pages of a private space',
    description: 'In the order of their names’ bytes, without talk pages. With `q` those where each of its words ' +
      'begins a word of the title, or that have it further in. `/pages/{name}` has the text of each.',
    params,
    querystring: partQuery({ q: { ...QUERY.title, examples: ['pla'] } }),
    response: reading(list('Pages', 'PageItem', [PLAN]), 304, 404)
  },
  changes: {
    ...OF_SPACES,
    summary: 'List the changes in a private space',
    description: 'The newest first.',
    params,
    querystring: partQuery(),
    response: reading(list('Revisions without their texts', 'Change', [CHANGED]), 304, 404)
  },
  search: {
    ...OF_SPACES,
    summary: 'Search the titles and texts of a private space',
    description: 'Its pages and talk pages with all words, in the order of their names’ bytes. Words are found ' +
      'whole, whatever their case and accents. A part ends after a second, perhaps with fewer items than `limit`, ' +
      'or none, and a cursor: the search goes on.',
    params,
    querystring: partQuery({ q: QUERY.words }, ['q']),
    response: reading(
      list('Pages and where they have the words', 'Hit', [{ ...PLAN, excerpt: EXCERPT_EXAMPLE }]), 304, 404)
  },
  export: {
    ...OF_SPACES,
    summary: 'Take a private space along',
    description: 'A zip as that of the whole wiki, with talk pages, and with the files of the space. For ' +
      'administrators of the space.',
    params,
    response: {
      200: { description: 'The zip', content: { 'application/zip': { schema: {} } } },
      ...otherwise(401, 403, 404, 429)
    }
  }
}

const FILE_SCHEMAS = {
  ...FILES,
  list: {
    ...FILES.list,
    summary: 'List the pictures and other files of a private space',
    description: 'The newest first. The token reads what is at `url`, too.',
    response: { ...FILES.list.response, ...otherwise(401, 403, 404) }
  },
  upload: {
    ...FILES.upload,
    summary: 'Upload a picture or another file into a private space',
    response: { ...FILES.upload.response, ...otherwise(404) }
  }
}

/** @param {import('../access/roles.js').Role} role @param {string} [costly] */
const configOf = (role, costly) => ({ role, ofSpace: true, ...costly && { costly } })

/** @param {FastifyRequest} request */
const asSpace = (request) => /** @type {Space} */ (spaceIn(request))

/**
 * What a private space has, as below /edit/in.
 * @param {FastifyInstance} app
 * @param {Pick<SpaceServices, 'lists' | 'files' | 'archived' | 'exportSlots'> & {maxBytes: number}} services
 */
export function addInSpace (app, { lists, files, maxBytes, ...exports }) {
  addLists(app, lists)
  app.get('/spaces/:name/export', { config: configOf('admin', 'export'), schema: SCHEMAS.export },
    createSpaceExport(exports))
  addFiles(app, {
    url: '/spaces/:name/files',
    schemas: FILE_SCHEMAS,
    reading: configOf('reader'),
    writing: configOf('editor'),
    filesOf: (request) => files.filesOf(asSpace(request), personIn(request)),
    maxBytes,
    cacheControl: NO_COPY
  })
}

/** @param {FastifyInstance} app @param {SpaceServices['lists']} lists */
function addLists (app, lists) {
  const listed = configOf('reader', 'list')

  app.get('/spaces/:name/pages', { config: listed, schema: SCHEMAS.pages }, async (request, reply) => {
    const found = await lists.pages({
      root: asSpace(request)._id, q: wordsIn(request), after: readCursor(request, ANY), limit: limitIn(request)
    })
    return sendPart(request, reply, { cacheControl: NO_COPY, found, shown: page, position: nameOf })
  })

  app.get('/spaces/:name/changes', { config: listed, schema: SCHEMAS.changes }, async (request, reply) => {
    const found = await lists.changes({
      root: asSpace(request)._id, before: readCursor(request, CHANGE_ID), limit: limitIn(request)
    })
    return sendPart(request, reply, {
      cacheControl: NO_COPY, found, shown: change, position: ({ _id: id }) => String(id)
    })
  })

  const search = { config: configOf('reader', 'search'), schema: SCHEMAS.search }
  app.get('/spaces/:name/search', search, async (request, reply) => {
    const q = wordsIn(request)
    const { hits, next } = await lists.texts({
      root: asSpace(request)._id, q, after: readCursor(request, ANY), limit: limitIn(request)
    }) ?? { hits: [], next: null }
    return sendPart(request, reply, {
      cacheControl: NO_COPY,
      found: { items: hits, more: next !== null },
      shown: ({ content, ...hit }) => ({ ...page(hit), excerpt: excerpt(content, q) }),
      position: () => String(next)
    })
  })
}
