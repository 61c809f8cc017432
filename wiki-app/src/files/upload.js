import multipart from '@fastify/multipart'
import createError from '@fastify/error'
import { t } from '../language.js'
import { ALT_SCHEMA, AUTHOR_SCHEMA, fits } from '../writing/change.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { NotAnImage } from './image.js'
import { asRefusal, receive, refuseLarger } from './receive.js'

/** @import {FastifyInstance, FastifyRequest} from 'fastify' */
/** @import {FileStore} from './store.js' */

const NoFile = createError(
  'WIKI_NO_FILE',
  'No file was sent: choose one first. In a form the fields come before the file.',
  400
)
const InvalidField = createError('WIKI_INVALID_FIELD', '%s has at most %d characters, on one line.', 400)

const FIELD_MAX_BYTES = 4 * ALT_SCHEMA.maxLength

/**
 * A form with one file. No other route of `app` has a body.
 * @param {FastifyInstance} app
 * @param {{url: string, config?: object, maxBytes: number, filesOf: (request: FastifyRequest) => FileStore,
 *   listUrlOf: (request: FastifyRequest) => string}} options
 */
export async function addUpload (app, { url, config, maxBytes, filesOf, listUrlOf }) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async () => { throw new NotAnImage() })
  // One byte above ours, so that ours is exceeded first.
  await app.register(multipart, {
    limits: { files: 1, fileSize: maxBytes + 1, fields: 2, fieldSize: FIELD_MAX_BYTES, parts: 3 },
    throwFileSizeLimit: false
  })

  const upload = { config: { ...config, waitsItself: true }, onRequest: refuseLarger(maxBytes) }
  app.post(url, upload, async (request, reply) => {
    const part = request.isMultipart() ? await request.file().catch(asRefusal) : undefined
    if (part === undefined || part.fieldname !== 'file') throw new NoFile()
    const said = {
      author: fieldIn(part.fields.author, AUTHOR_SCHEMA, 'The name of an author'),
      alt: fieldIn(part.fields.alt, ALT_SCHEMA, 'The name of a picture'),
      name: part.filename ?? ''
    }
    const { item, created } = await receive(filesOf(request), request, part.file, said)
    reply.code(created ? 201 : 200)
    if (wantsHtml(request)) {
      return reply.type(HTML).send(renderFor(request, 'files', {
        title: created ? t('Uploaded') : t('It was there already'), items: [item], one: true, url: listUrlOf(request)
      }))
    }
    const { url: location, name, alt, markdown, type, width, height, bytes } = item
    return reply.header('location', location)
      .send({ url: location, name, alt, markdown, type, width, height, bytes, created })
  })
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
