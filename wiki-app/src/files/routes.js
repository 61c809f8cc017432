import multipart from '@fastify/multipart'
import createError from '@fastify/error'
import fresh from 'fresh'
import { ALT_SCHEMA, AUTHOR_SCHEMA, fits } from '../writing/change.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { fileIn } from './picture-routes.js'
import { asRefusal, receive, refuseLarger, shown } from './receive.js'
import { NotAnImage } from './image.js'

/** @import {Services} from '../services.js' */

const NoFile = createError(
  'WIKI_NO_FILE',
  'No file was sent: choose a picture first. In a form the fields come before the file.',
  400
)
const InvalidField = createError('WIKI_INVALID_FIELD', '%s has at most %d characters, on one line.', 400)

const FILES_PER_PART = 24
const FIELD_MAX_BYTES = 4 * ALT_SCHEMA.maxLength

/** RFC 8246 */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** It loads and runs nothing, whatever a browser takes it for. */
const FILE_SECURITY = "default-src 'none'; sandbox"

/** nginx/conf/pictures.conf sets it on each request, so that no client can. */
const OF_NGINX = 'x-picture-files'

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
      alt: fieldIn(part.fields.alt, ALT_SCHEMA, 'The name of a picture')
    }
    const { item, created } = await receive(files, request, part.file, said)
    reply.code(created ? 201 : 200)
    if (wantsHtml(request)) {
      return reply.type(HTML).send(renderFor(request, 'files',
        { title: created ? 'Uploaded' : 'It was there already', items: [item], one: true }))
    }
    const { url, alt, markdown, type, width, height, bytes } = item
    return reply.header('location', url).send({ url, alt, markdown, type, width, height, bytes, created })
  })

  app.get('/files', { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { items, more } = await files.list({ before, limit: FILES_PER_PART })
    const body = renderFor(request, 'files', {
      title: 'Pictures',
      items: items.map(shown),
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
      const validators = { etag: `"${file.filename}"`, 'last-modified': file.uploadDate.toUTCString() }
      const policy = { ...validators, 'cache-control': FOR_EVER, 'content-security-policy': FILE_SECURITY }
      if (fresh(request.headers, validators)) return reply.headers(policy).code(304).send()
      const headers = { ...policy, 'content-type': file.metadata.type, 'content-disposition': 'inline' }
      const internalUrl = request.headers[OF_NGINX] === undefined ? null : files.internalUrl(file)
      if (internalUrl !== null && request.method === 'GET') return leaveToNginx(reply, headers, internalUrl)
      const body = request.method === 'HEAD' ? undefined : await files.read(file)
      return reply.headers({ ...headers, 'content-length': file.length }).send(body)
    }
  })
}

/**
 * nginx sends the file, and ranges of it. Of this response's headers it keeps few, and those also for a file that is
 * not there; nginx/conf/pictures.conf takes the others from it.
 * https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ignore_headers
 * @param {import('fastify').FastifyReply} reply @param {Record<string, string>} headers @param {string} internalUrl
 */
function leaveToNginx (reply, { 'cache-control': cacheControl, ...headers }, internalUrl) {
  return reply
    .headers({ ...headers, 'x-accel-redirect': internalUrl, 'x-picture-cache-control': cacheControl })
    .send()
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
