import createError from '@fastify/error'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import { jsonParser } from '../http/content-parsers.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { API_PREFIX } from '../views.js'
import { readNumbers } from './address.js'
import { JSON_TYPE } from './answers.js'
import { archiveApi } from './archive-routes.js'
import { fileApi } from './file-routes.js'
import { searchApi } from './search-routes.js'
import { historyApi } from './history-routes.js'
import { pageApi } from './page-routes.js'
import { SECURITY_SCHEMES, SHARED_SCHEMAS } from './schemas.js'

/** @import {FileStore} from '../files/store.js' */
/** @import {Services} from '../services.js' */

const UnknownType = createError(
  'WIKI_API_UNKNOWN_TYPE',
  'The API takes JSON (application/json), zip files (application/zip) to import, ' +
    'and pictures (image/*) to upload.',
  415
)

const DOCUMENT_PATH = '/openapi.json'

const OPENAPI = {
  openapi: '3.1.1',
  info: {
    title: 'stevec',
    version: '1',
    summary: 'The wiki for programs',
    description: 'Everything that the wiki’s pages can do. ' +
      'Lists come in parts: pass `next_cursor` as `cursor` until it is null. ' +
      'Errors are problem details (RFC 9457). ' +
      'Single pages and lists have an ETag, so what you have is confirmed rather than sent again.'
  },
  servers: [{ url: API_PREFIX }],
  components: { securitySchemes: SECURITY_SCHEMES },
  tags: [
    { name: 'pages', description: 'Read and write single pages' },
    { name: 'search', description: 'Find pages' },
    { name: 'history', description: 'What was' },
    { name: 'files', description: 'Pictures for pages' },
    { name: 'archive', description: 'The whole wiki as one file' }
  ]
}

/** The documentation inserts one style (the hash), and its styles embed images. */
const UI_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/**
 * @typedef {Pick<Services, 'store' | 'history' | 'oldRevisions' | 'search' | 'importFiles' | 'importSlots' |
 *   'policy'>} Parts
 * @type {import('fastify').FastifyPluginAsync<Parts & {pictures: FileStore, pictureMaxBytes: number, archived: () =>
 *   AsyncIterable<import('../archive/zip.js').ZipItem>}>}
 */
export async function apiRoutes (app, {
  store, history, oldRevisions, search, pictures, pictureMaxBytes, archived, importFiles, importSlots, policy
}) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, jsonParser(app))
  app.addContentTypeParser('*', async () => { throw new UnknownType() })
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema)

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', policy.listControl)
    done()
  })
  await app.register(swagger, { openapi: OPENAPI, refResolver: { buildLocalReference: ({ $id }) => String($id) } })
  await app.register(swaggerUi, {
    routePrefix: '/api',
    staticCSP: UI_POLICY,
    theme: { title: 'The wiki for programs' }
  })

  await app.register(async (api) => {
    api.addHook('preValidation', readNumbers)
    api.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    await api.register(fp(pageApi), { store, policy })
    await api.register(fp(searchApi), { search, policy })
    await api.register(fp(historyApi), { store, history, oldRevisions, policy })
    await api.register(fp(fileApi), { files: pictures, maxBytes: pictureMaxBytes, policy })
    await api.register(fp(archiveApi), { archived, importFiles, importSlots })

    /** @type {string | undefined} */
    let document
    api.get(DOCUMENT_PATH, { schema: { hide: true } }, async (request, reply) => {
      document ??= JSON.stringify(app.swagger())
      return sendRevalidated(request, reply, { cacheControl: policy.listControl, type: JSON_TYPE, body: document })
    })
  }, { prefix: API_PREFIX })
}
