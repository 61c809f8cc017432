import { withoutDatabase } from '../deferred/without-database.js'
import { canonicalName } from '../pages/name.js'
import { ID_PATTERN, shortLinkUrl } from '../short-links/ids.js'
import { API_PREFIX } from '../views.js'
import { answer, bodyOf, otherwise, refusals, SECURITY } from './schemas.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Made} from '../deferred/deferred-links.js' */
/** @import {DeferredSaves} from '../deferred/deferred-saves.js' */
/** @import {Link, ShortLinks, Target} from '../short-links/store.js' */

const tags = ['short-links']
const EXAMPLE = {
  id: 'x4k9m2tw',
  url: '/s/x4k9m2tw',
  page: 'Handbook/Writing',
  revision: null,
  created_at: '2026-01-01T10:00:00.000Z'
}
const CHOSEN = { ...EXAMPLE, id: 'writing', url: '/s/writing' }

const ID = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string', pattern: ID_PATTERN, description: 'What follows /s/ in the address.', examples: [CHOSEN.id] }
  }
}
const BODY = bodyOf({
  page: { type: 'string', description: 'The name of the page.' },
  revision: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 999_999_999,
    description: 'A revision of it. Without one, the address leads to the page as it is at any time.'
  }
}, ['page'], { page: EXAMPLE.page })

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  make: {
    tags,
    security: SECURITY,
    summary: 'Make a short address',
    description: 'It leads to the page or the revision for ever, also when the page gets another name. ' +
      'Each has one such address: the same request gives the same one.',
    body: BODY,
    response: {
      200: answer('The address that it has', 'ShortLink', EXAMPLE),
      201: answer('It was made', 'ShortLink', EXAMPLE),
      ...refusals(404)
    }
  },
  choose: {
    tags,
    security: SECURITY,
    summary: 'Choose a short address',
    description: 'The id is your own. The address leads to the page or the revision for ever, also when the page gets ' +
      'another name. An id that leads elsewhere already is refused.',
    params: ID,
    body: BODY,
    response: {
      200: answer('It leads there already', 'ShortLink', CHOSEN),
      201: answer('It was made', 'ShortLink', CHOSEN),
      ...refusals(404, 409)
    }
  },
  read: {
    tags,
    summary: 'Read where a short address leads',
    description: 'With the name that the page has now. `/s/` and the id redirect there.',
    params: ID,
    response: { 200: answer('The address', 'ShortLink', CHOSEN), ...otherwise(404) }
  }
}

const ACCEPTED = 'It was taken and leads there, and is not stored yet: the wiki runs with an unsafe WRITE_STRATEGY. ' +
  'If it cannot be stored, its address in the API says why.'

/** @param {'make' | 'choose'} name @param {object | undefined} waiting @param {object} example */
const schemaOf = (name, waiting, example) => waiting === undefined
  ? SCHEMAS[name]
  : {
      ...SCHEMAS[name],
      response: {
        200: answer('It leads there already', 'ShortLink', example),
        202: answer(ACCEPTED, 'ShortLink', example),
        ...refusals(409)
      }
    }

/**
 * @typedef {Pick<ShortLinks, 'read'> & Record<'make' | 'choose', (...args: any[]) => Promise<Made>>} Links
 * @type {FastifyPluginAsync<{links: Links, deferred?: DeferredSaves}>}
 */
export async function shortLinkApi (app, { links, deferred }) {
  const config = withoutDatabase(deferred, () => true)
  const waiting = deferred?.links
  app.post('/short-links', { config, schema: schemaOf('make', waiting, EXAMPLE) }, async (request, reply) =>
    send(reply, await links.make(targetIn(request))))

  app.put('/short-links/:id', { config, schema: schemaOf('choose', waiting, CHOSEN) }, async (request, reply) =>
    send(reply, await links.choose(idIn(request), targetIn(request))))

  app.get('/short-links/:id', { schema: SCHEMAS.read }, async (request) => shown(await links.read(idIn(request))))
}

/** @param {FastifyRequest} request */
const idIn = ({ params }) => /** @type {{id: string}} */ (params).id

/** @param {FastifyRequest} request @returns {Target} @throws {Error} 400 */
function targetIn ({ body }) {
  const { page, revision = null } = /** @type {{page: string, revision?: number | null}} */ (body)
  return { page: canonicalName(page), revision }
}

/** @param {Link} link */
const shown = ({ id, page, revision, created_at: createdAt }) =>
  ({ id, url: shortLinkUrl(id), page, revision, created_at: createdAt })

/** @param {FastifyReply} reply @param {Made} made */
function send (reply, { link, created, deferred = false }) {
  if (created) reply.code(deferred ? 202 : 201).header('location', `${API_PREFIX}/short-links/${link.id}`)
  return shown(link)
}
