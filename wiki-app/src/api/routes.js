import createError from '@fastify/error'
import swagger from '@fastify/swagger'
import fp from 'fastify-plugin'
import { isPrivate } from '../access/access.js'
import { jsonParser } from '../http/content-parsers.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { site } from '../site/site.js'
import { placed } from '../spaces/placed.js'
import { API_PREFIX } from '../views.js'
import { readNumbers } from './address.js'
import { JSON_TYPE } from './answers.js'
import { archiveApi } from './archive-routes.js'
import { counterApi } from './counter-route.js'
import { DIFFERENCE_SCHEMA } from './difference-schema.js'
import { DIGEST_SCHEMA, digestApi } from './digest-routes.js'
import { documentationRoutes } from './documentation.js'
import { fileApi } from './file-routes.js'
import { searchApi } from './search-routes.js'
import { shortLinkApi } from './short-link-routes.js'
import { historyApi } from './history-routes.js'
import { pageApi } from './page-routes.js'
import { PROTECTION_SCHEMAS, protectionApi } from './protection-routes.js'
import { PROPOSAL_SCHEMAS, proposalApi } from './proposal-routes.js'
import { SAVE_SCHEMA, saveApi } from './save-routes.js'
import { spacesApi } from './space-routes.js'
import { SPACE_SCHEMAS } from './space-schemas.js'
import { WATCHING_SCHEMAS, watchingApi } from './watching-routes.js'
import { SECURITY_SCHEMES, SHARED_SCHEMAS } from './schemas.js'

/** @import {FileStore} from '../files/store.js' */
/** @import {Subscriptions} from '../digest/subscriptions.js' */
/** @import {Services} from '../services.js' */

const UnknownType = createError(
  'WIKI_API_UNKNOWN_TYPE',
  'The API takes JSON (application/json), zip files (application/zip) to import, ' +
    'and pictures (image/*) and other files (application/octet-stream) to upload.',
  415
)

const DOCUMENT_PATH = '/openapi.json'

/** Tags of what a wiki has that knows people by name. */
const OF_PEOPLE = ['watching', 'protection', 'spaces']

const createDocument = () => ({
  openapi: '3.1.1',
  info: {
    title: site().name,
    version: '1',
    summary: 'The API of this wiki',
    description: 'A program can do here what people do in the browser. ' +
      'Lists come in parts: pass `next_cursor` as `cursor` until it is null. ' +
      'Errors are problem details (RFC 9457). ' +
      'Single pages and lists have an ETag: with `If-None-Match`, the wiki answers 304 while nothing has changed.'
  },
  servers: [{ url: API_PREFIX }],
  components: { securitySchemes: SECURITY_SCHEMES },
  tags: [
    { name: 'pages', description: 'Single pages' },
    { name: 'search', description: 'Lists and search' },
    { name: 'history', description: 'History' },
    { name: 'protection', description: 'Protected pages' },
    { name: 'watching', description: 'Watching' },
    { name: 'spaces', description: 'Private spaces and groups' },
    { name: 'short-links', description: 'Short addresses' },
    { name: 'files', description: 'Pictures and other files' },
    { name: 'archive', description: 'Import and export' },
    { name: 'counter', description: 'Requests that reached the wiki' }
  ]
})

/**
 * @typedef {Pick<Services, 'store' | 'history' | 'oldRevisions' | 'search' | 'importFiles' | 'importSlots' |
 *   'policy' | 'links' | 'deferred' | 'findStatus' | 'watching' | 'protections' | 'proposals' | 'proposing' |
 *   'privateSpaces'>} Parts
 * @type {import('fastify').FastifyPluginAsync<Parts & {pictures: FileStore, pictureMaxBytes: number,
 *   subscriptions?: Subscriptions, counter: import('../counter.js').Counter, archived: () =>
 *   AsyncIterable<import('../archive/zip.js').ZipItem>}>}
 */
export async function apiRoutes (app, {
  store, history, oldRevisions, search, pictures, pictureMaxBytes, archived, importFiles, importSlots, counter, policy,
  links, deferred, findStatus, watching, subscriptions, protections, proposals, proposing,
  privateSpaces
}) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, jsonParser(app))
  app.addContentTypeParser('*', async () => { throw new UnknownType() })
  const schemas = [...SHARED_SCHEMAS, DIFFERENCE_SCHEMA, ...deferred ? [SAVE_SCHEMA] : [],
    ...watching ? WATCHING_SCHEMAS : [], ...protections ? PROTECTION_SCHEMAS : [],
    ...proposals ? PROPOSAL_SCHEMAS : [],
    ...subscriptions ? [DIGEST_SCHEMA] : [], ...privateSpaces ? SPACE_SCHEMAS : []]
  for (const schema of schemas) app.addSchema(schema)

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', policy.listControl)
    done()
  })
  const security = isPrivate(app) ? { security: [{ token: [] }] } : {}
  const document = createDocument()
  const tags = document.tags.filter(({ name }) => watching || !OF_PEOPLE.includes(name))
  const openapi = { ...document, ...security, tags }
  await app.register(swagger, { openapi, refResolver: { buildLocalReference: ({ $id }) => String($id) } })
  await app.register(documentationRoutes, {
    document: () => app.swagger(),
    documentUrl: API_PREFIX + DOCUMENT_PATH,
    cacheControl: policy.listControl
  })

  await app.register(async (api) => {
    api.addHook('preValidation', readNumbers)
    api.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    await api.register(fp(placed(pageApi, privateSpaces?.inside)), { store, policy, deferred, proposals, proposing })
    await api.register(fp(saveApi), { findStatus, deferred })
    await api.register(fp(searchApi), { search, policy })
    await api.register(fp(placed(historyApi, privateSpaces?.inside)), { store, history, oldRevisions, policy })
    await api.register(fp(placed(protectionApi, privateSpaces?.inside)), { protections })
    if (proposals) await api.register(placed(proposalApi, privateSpaces?.inside), { proposals, proposing })
    if (watching) await api.register(fp(watchingApi), { watching })
    if (subscriptions) await api.register(fp(digestApi), { subscriptions })
    await api.register(fp(shortLinkApi), { links, deferred })
    await api.register(fp(fileApi), { files: pictures, maxBytes: pictureMaxBytes, policy })
    // It takes files, too.
    if (privateSpaces) await api.register(spacesApi, { ...privateSpaces, maxBytes: pictureMaxBytes })
    await api.register(fp(archiveApi), { archived, importFiles, importSlots })
    await api.register(fp(counterApi), { counter })

    /** @type {string | undefined} */
    let document
    api.get(DOCUMENT_PATH, { schema: { hide: true } }, async (request, reply) => {
      document ??= JSON.stringify(app.swagger())
      return sendRevalidated(request, reply, { cacheControl: policy.listControl, type: JSON_TYPE, body: document })
    })
  }, { prefix: API_PREFIX })
}
