import { personIn } from '../access/access.js'
import { fileIn } from '../files/picture-routes.js'
import { receive, refuseLarger, shown } from '../files/receive.js'
import { ALT_SCHEMA } from '../writing/change.js'
import { readableAlt, visibleAuthor } from '../pages/visible.js'
import { sendPart } from './answers.js'
import { limitIn, readCursor } from './cursor.js'
import { answer, bodyOf, CHANGE_FIELDS, list, otherwise, partQuery, queryOf, refusals, SECURITY } from './schemas.js'

/** @import {Services} from '../services.js' */

const FILE_ID = /^[0-9a-f]{24}$/

const tags = ['files']
const PICTURE = {
  url: '/files/a1abfd410973b0111c215baa879b9edc.png',
  alt: '',
  markdown: '![](/files/a1abfd410973b0111c215baa879b9edc.png)',
  type: 'image/png',
  width: 1,
  height: 1,
  size_bytes: 67,
  author: 'Ana',
  created_at: '2026-01-01T00:00:00.000Z'
}

/** Longer names are shortened. */
const NAME = {
  type: 'string',
  maxLength: 1_000,
  description: 'The name of the file. Without it, only pictures are taken.'
}
const ALT = { ...ALT_SCHEMA, description: 'What it shows.' }
const params = {
  type: 'object',
  required: ['file'],
  properties: {
    file: {
      type: 'string',
      description: 'The last part of a picture’s address; of another file’s address the part before its name.',
      examples: [PICTURE.url.slice('/files/'.length)]
    }
  }
}

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  list: {
    tags,
    summary: 'List the pictures and other files',
    description: 'The newest first.',
    querystring: partQuery(),
    response: {
      200: list('What there is to know of each, and the Markdown that shows it', 'Picture', [PICTURE]),
      ...otherwise(304)
    }
  },
  upload: {
    tags,
    security: SECURITY,
    summary: 'Upload a picture or another file',
    description: 'PNG, JPEG, WebP or GIF; what it is is read from its content, and a damaged one is refused. ' +
      'What follows its end is not kept. The same content twice is one picture, at one address for ever. ' +
      'With a `name`, any other file is taken, too, and sent as a download of that name. The same content with ' +
      'another name is one file with two addresses; it keeps 20 names.',
    querystring: queryOf({ author: { ...CHANGE_FIELDS.author, examples: ['Ana'] }, alt: ALT, name: NAME }),
    body: { content: { 'image/png': { schema: {} }, 'application/octet-stream': { schema: {} } } },
    response: {
      200: answer('It was there already', 'Picture', PICTURE),
      201: answer('It is there now', 'Picture', PICTURE),
      ...refusals()
    }
  },
  rename: {
    tags,
    security: SECURITY,
    summary: 'Say what a picture shows',
    description: 'Lists name it so. Pages keep what they say of it.',
    params,
    body: bodyOf({ alt: ALT }, ['alt'], { alt: 'A grey dot' }),
    response: {
      200: answer('It is named', 'Picture', {
        ...PICTURE, alt: 'A grey dot', markdown: `![A grey dot](${PICTURE.url})`
      }),
      ...refusals(404)
    }
  },
  remove: {
    tags,
    security: SECURITY,
    summary: 'Delete a picture',
    description: 'For good. Its address says so; pages that show it keep their texts.',
    params,
    querystring: queryOf({ author: CHANGE_FIELDS.author }),
    response: { 204: { description: 'It was deleted.', type: 'null' }, ...refusals(404) }
  }
}

/** @type {import('fastify').FastifyPluginAsync<Pick<Services, 'files' | 'policy'> & {maxBytes: number}>} */
export async function fileApi (app, { files, maxBytes, policy: { listControl: cacheControl } }) {
  app.addContentTypeParser(
    /^(?:image\/|application\/octet-stream(?:;|$))/,
    async (
      /** @type {unknown} */ _request,
      /** @type {import('node:http').IncomingMessage} */ body
    ) => body
  )

  app.get('/files', { config: { costly: 'list' }, schema: SCHEMAS.list }, async (request, reply) => {
    const found = await files.list({ before: readCursor(request, FILE_ID), limit: limitIn(request) })
    return sendPart(request, reply, {
      cacheControl,
      found,
      shown: (file) => picture(shown(file)),
      position: ({ _id: id }) => String(id)
    })
  })

  const upload = { config: { waitsItself: true }, onRequest: refuseLarger(maxBytes), schema: SCHEMAS.upload }
  app.post('/files', upload, async (request, reply) => {
    const said = /** @type {{author?: string, alt?: string, name?: string}} */ (request.query)
    const { item, created } = await receive(files, request, request.raw.iterator({ destroyOnReturn: false }), said)
    return reply.code(created ? 201 : 200).header('location', item.url).send(picture(item))
  })

  app.patch('/files/:file', { schema: SCHEMAS.rename }, async (request) => {
    const file = await fileIn(request, files)
    const alt = readableAlt(/** @type {{alt: string}} */ (request.body).alt)
    return picture(shown(await files.rename(file.filename, alt) ?? file))
  })

  app.delete('/files/:file', { schema: SCHEMAS.remove }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    await files.remove(await fileIn(request, files), personIn(request)?.name ?? visibleAuthor(author) ?? '')
    return reply.code(204).send()
  })
}

/** @param {ReturnType<typeof shown>} item */
const picture = ({ url, name, alt, markdown, type, width, height, bytes, author, at }) =>
  ({ url, name, alt, markdown, type, width, height, size_bytes: bytes, author, created_at: at })
