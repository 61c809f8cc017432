import { personIn } from '../access/access.js'
import { fileIn } from '../files/picture-routes.js'
import { receive, refuseLarger, shown } from '../files/receive.js'
import { ALT_SCHEMA } from '../writing/change.js'
import { readableAlt, visibleAuthor } from '../pages/visible.js'
import { sendPart } from './answers.js'
import { limitIn, readCursor } from './cursor.js'
import {
  answer, bodyOf, CHANGE_FIELDS, inPath, list, otherwise, partQuery, queryOf, refusals, SECURITY
} from './schemas.js'

/** @import {FastifyInstance, FastifyRequest} from 'fastify' */
/** @import {FileStore} from '../files/store.js' */
/** @import {Services} from '../services.js' */

const FILE_ID = /^[0-9a-f]{24}$/

/** Longer names are shortened. */
const NAME = {
  type: 'string',
  maxLength: 1_000,
  description: 'The name of the file. Without it, only pictures are taken.'
}
const ALT = { ...ALT_SCHEMA, description: 'What it shows.' }

/**
 * @typedef {Record<'list' | 'upload' | 'rename' | 'remove', import('fastify').FastifySchema & {response: object}>}
 *   FileSchemas
 */

/**
 * @param {{tags: string[], security: import('fastify').FastifySchema['security'], base: string,
 *   params?: Record<string, object>}} place  `base`: before the names of files; `params`: before `file`, in the path
 * @returns {FileSchemas}
 */
// eslint-disable-next-line max-lines-per-function -- a table of schemas
export function fileSchemas ({ tags, security, base, params = {} }) {
  const file = 'a1abfd410973b0111c215baa879b9edc.png'
  const example = {
    url: `${base}/${file}`,
    alt: '',
    markdown: `![](${base}/${file})`,
    type: 'image/png',
    width: 1,
    height: 1,
    size_bytes: 67,
    author: 'Ana',
    created_at: '2026-01-01T00:00:00.000Z'
  }
  const ofFile = inPath({
    ...params,
    file: {
      type: 'string',
      description: 'The last part of a picture’s address; of another file’s address the part before its name.',
      examples: [file]
    }
  })
  return {
    list: {
      tags,
      summary: 'List the pictures and other files',
      description: 'The newest first.',
      params: inPath(params),
      querystring: partQuery(),
      response: {
        200: list('What there is to know of each, and the Markdown that shows it', 'Picture', [example]),
        ...otherwise(304)
      }
    },
    upload: {
      tags,
      security,
      summary: 'Upload a picture or another file',
      description: 'PNG, JPEG, WebP or GIF; what it is is read from its content, and a damaged one is refused. ' +
        'What follows its end is not kept. The same content twice is one picture, at one address for ever. ' +
        'With a `name`, any other file is taken, too, and sent as a download of that name. The same content with ' +
        'another name is one file with two addresses; it keeps 20 names.',
      params: inPath(params),
      querystring: queryOf({ author: { ...CHANGE_FIELDS.author, examples: ['Ana'] }, alt: ALT, name: NAME }),
      body: { content: { 'image/png': { schema: {} }, 'application/octet-stream': { schema: {} } } },
      response: {
        200: answer('It was there already', 'Picture', example),
        201: answer('It is there now', 'Picture', example),
        ...refusals()
      }
    },
    rename: {
      tags,
      security,
      summary: 'Say what a picture shows',
      description: 'Lists name it so. Pages keep what they say of it.',
      params: ofFile,
      body: bodyOf({ alt: ALT }, ['alt'], { alt: 'A grey dot' }),
      response: {
        200: answer('It is named', 'Picture', {
          ...example, alt: 'A grey dot', markdown: `![A grey dot](${example.url})`
        }),
        ...refusals(404)
      }
    },
    remove: {
      tags,
      security,
      summary: 'Delete a picture',
      description: 'For good. Its address says so; pages that show it keep their texts.',
      params: ofFile,
      querystring: queryOf({ author: CHANGE_FIELDS.author }),
      response: { 204: { description: 'It was deleted.', type: 'null' }, ...refusals(404) }
    }
  }
}

const SCHEMAS = fileSchemas({ tags: ['files'], security: SECURITY, base: '/files' })

/** @type {import('fastify').FastifyPluginAsync<Pick<Services, 'files' | 'policy'> & {maxBytes: number}>} */
export async function fileApi (app, { files, maxBytes, policy: { listControl: cacheControl } }) {
  app.addContentTypeParser(
    /^(?:image\/|application\/octet-stream(?:;|$))/,
    async (
      /** @type {unknown} */ _request,
      /** @type {import('node:http').IncomingMessage} */ body
    ) => body
  )
  addFiles(app, { url: '/files', schemas: SCHEMAS, filesOf: () => files, maxBytes, cacheControl })
}

/**
 * @param {FastifyInstance} app  takes pictures and files as bodies
 * @param {{url: string, schemas: FileSchemas, reading?: object, writing?: object, filesOf: (request: FastifyRequest) =>
 *   FileStore, maxBytes: number, cacheControl: string}} place  `reading`, `writing`: the config of such routes
 */
export function addFiles (app, { url, schemas, reading, writing, filesOf, maxBytes, cacheControl }) {
  app.get(url, { config: { ...reading, costly: 'list' }, schema: schemas.list }, async (request, reply) => {
    const found = await filesOf(request).list({ before: readCursor(request, FILE_ID), limit: limitIn(request) })
    return sendPart(request, reply, {
      cacheControl,
      found,
      shown: (file) => picture(shown(file)),
      position: ({ _id: id }) => String(id)
    })
  })

  const upload = {
    config: { ...writing, waitsItself: true }, onRequest: refuseLarger(maxBytes), schema: schemas.upload
  }
  app.post(url, upload, async (request, reply) => {
    const said = /** @type {{author?: string, alt?: string, name?: string}} */ (request.query)
    const body = request.raw.iterator({ destroyOnReturn: false })
    const { item, created } = await receive(filesOf(request), request, body, said)
    return reply.code(created ? 201 : 200).header('location', item.url).send(picture(item))
  })

  app.patch(`${url}/:file`, { config: { ...writing }, schema: schemas.rename }, async (request) => {
    const files = filesOf(request)
    const file = await fileIn(request, files)
    const alt = readableAlt(/** @type {{alt: string}} */ (request.body).alt)
    return picture(shown(await files.rename(file.filename, alt) ?? file))
  })

  app.delete(`${url}/:file`, { config: { ...writing }, schema: schemas.remove }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    const files = filesOf(request)
    await files.remove(await fileIn(request, files), personIn(request)?.name ?? visibleAuthor(author) ?? '')
    return reply.code(204).send()
  })
}

/** @param {ReturnType<typeof shown>} item */
const picture = ({ url, thumbnailUrl, name, alt, markdown, type, width, height, bytes, author, at }) => ({
  url,
  ...thumbnailUrl !== null && { thumbnail_url: thumbnailUrl },
  name,
  alt,
  markdown,
  type,
  width,
  height,
  size_bytes: bytes,
  author,
  created_at: at
})
