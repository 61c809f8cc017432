import multipart from '@fastify/multipart'
import createError from '@fastify/error'
import { t } from '../language.js'
import { ALT_SCHEMA, AUTHOR_SCHEMA, fits } from '../writing/change.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { isMisspelt } from '../reading/address.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { asDownload } from './attachment-name.js'
import { FileMissing, fileIn } from './picture-routes.js'
import { asRefusal, receive, refuseLarger, shown } from './receive.js'
import { NotAnImage } from './image.js'
import { sendFile } from './send-file.js'
import { urlOf } from './store.js'

/** @import {Services} from '../services.js' */

const NoFile = createError(
  'WIKI_NO_FILE',
  'No file was sent: choose one first. In a form the fields come before the file.',
  400
)
const InvalidField = createError('WIKI_INVALID_FIELD', '%s has at most %d characters, on one line.', 400)

const FILES_PER_PART = 24
const FIELD_MAX_BYTES = 4 * ALT_SCHEMA.maxLength

const LIST_SCHEMA = {
  querystring: { type: 'object', properties: { before: { type: 'string', pattern: '^[0-9a-f]{24}$' } } }
}

/** @type {import('fastify').FastifyPluginAsync<Pick<Services, 'files' | 'policy'> & {maxBytes: number}>} */
export async function fileRoutes (app, { files, maxBytes, policy }) {
  app.addHook('onRequest', redirectUnknownQuery)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async () => { throw new NotAnImage() })
  // One byte above ours, so that ours is exceeded first.
  await app.register(multipart, {
    limits: { files: 1, fileSize: maxBytes + 1, fields: 2, fieldSize: FIELD_MAX_BYTES, parts: 3 },
    throwFileSizeLimit: false
  })

  const upload = { config: { waitsItself: true }, onRequest: refuseLarger(maxBytes) }
  app.post('/edit/upload', upload, async (request, reply) => {
    const part = request.isMultipart() ? await request.file().catch(asRefusal) : undefined
    if (part === undefined || part.fieldname !== 'file') throw new NoFile()
    const said = {
      author: fieldIn(part.fields.author, AUTHOR_SCHEMA, 'The name of an author'),
      alt: fieldIn(part.fields.alt, ALT_SCHEMA, 'The name of a picture'),
      name: part.filename ?? ''
    }
    const { item, created } = await receive(files, request, part.file, said)
    reply.code(created ? 201 : 200)
    if (wantsHtml(request)) {
      return reply.type(HTML).send(renderFor(request, 'files',
        { title: created ? t('Uploaded') : t('It was there already'), items: [item], one: true }))
    }
    const { url, name, alt, markdown, type, width, height, bytes } = item
    return reply.header('location', url).send({ url, name, alt, markdown, type, width, height, bytes, created })
  })

  app.get('/files', { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { items, more } = await files.list({ before, limit: FILES_PER_PART })
    const body = renderFor(request, 'files', {
      title: t('Pictures and files'),
      items: items.map((file) => shown(file)),
      one: false,
      first: before === undefined,
      nextUrl: more ? `/files?before=${items[items.length - 1]._id}` : null,
      firstUrl: '/files'
    })
    return sendRevalidated(request, reply, { cacheControl: policy.listControl, type: HTML, body })
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/files/:file',
    handler: async (request, reply) => {
      const file = await fileIn(request, files)
      if (file.metadata.names !== undefined) throw new FileMissing()
      return sendAt(urlOf(file), request, reply, { file, disposition: 'inline', files })
    }
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/files/:file/:name',
    handler: async (request, reply) => {
      const file = await fileIn(request, files)
      const { name } = /** @type {{name: string}} */ (request.params)
      return sendAt(urlOfName(file, name), request, reply, { file, disposition: asDownload(name), files })
    }
  })
}

/**
 * In one spelling, as a deletion purges no other one from caches.
 * @param {string} url @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @param {Parameters<typeof sendFile>[3] & {file: import('./model.js').StoredFile}} sent
 */
async function sendAt (url, request, reply, { file, ...options }) {
  if (isMisspelt(request, url)) return reply.header('cache-control', 'no-store').redirect(url, 301)
  return sendFile(request, reply, file, options)
}

/**
 * Only of names of its uploads: no link gives a file a name of its own, and a deletion purges every address.
 * @param {import('./model.js').StoredFile} file @param {string} name @throws {Error} 404
 */
function urlOfName (file, name) {
  if (!file.metadata.names?.includes(name)) throw new FileMissing()
  return urlOf(file, name)
}

/**
 * @param {import('@fastify/multipart').Multipart | import('@fastify/multipart').Multipart[] | undefined} field
 * @param {typeof AUTHOR_SCHEMA} schema @param {string} what  for people
 * @returns {string} '' for none @throws {Error} 400
 */
function fieldIn (field, schema, what) {
  const value = field === undefined || Array.isArray(field) || field.type !== 'field' ? '' : String(field.value)
  if (!fits(value, schema)) throw new InvalidField(what, schema.maxLength)
  return value
}
