import { t } from '../language.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { isMisspelt } from '../reading/address.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { HTML, renderFor } from '../views.js'
import { asDownload } from './attachment-name.js'
import { FileMissing, fileIn } from './picture-routes.js'
import { shown } from './receive.js'
import { sendFile, sendThumbnail } from './send-file.js'
import { FILES_URL, thumbnailUrlOf, urlOf } from './store.js'
import { isThumbnail } from './thumbnails/thumbnails.js'
import { addUpload } from './upload.js'

/** @import {Services} from '../services.js' */

export const FILES_PER_PART = 24
const UPLOAD_URL = '/edit/upload'

const LIST_SCHEMA = {
  querystring: { type: 'object', properties: { before: { type: 'string', pattern: '^[0-9a-f]{24}$' } } }
}

/** @type {import('fastify').FastifyPluginAsync<Pick<Services, 'files' | 'policy'> & {maxBytes: number}>} */
export async function fileRoutes (app, { files, maxBytes, policy }) {
  app.addHook('onRequest', redirectUnknownQuery)
  await addUpload(app, { url: UPLOAD_URL, maxBytes, filesOf: () => files, listUrlOf: () => FILES_URL })

  app.get(FILES_URL, { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { items, more } = await files.list({ before, limit: FILES_PER_PART })
    const body = renderFor(request, 'files', {
      title: t('Pictures and files'),
      items: items.map((file) => shown(file)),
      one: false,
      first: before === undefined,
      url: FILES_URL,
      uploadUrl: UPLOAD_URL,
      nextUrl: more ? `${FILES_URL}?before=${items[items.length - 1]._id}` : null,
      firstUrl: FILES_URL
    })
    return sendRevalidated(request, reply, { cacheControl: policy.listControl, type: HTML, body })
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: `${FILES_URL}/:file`,
    handler: async (request, reply) => {
      const file = await fileIn(request, files)
      if (file.metadata.names !== undefined) throw new FileMissing()
      return sendAt(urlOf(file), request, reply, { file, disposition: 'inline', files })
    }
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: `${FILES_URL}/:file/:name`,
    handler: async (request, reply) => {
      const file = await fileIn(request, files)
      const { name } = /** @type {{name: string}} */ (request.params)
      if (isThumbnail(file, name)) {
        const url = String(thumbnailUrlOf(file))
        return redirected(url, request, reply) ?? sendThumbnail(request, reply, file, { files })
      }
      return sendAt(urlOfName(file, name), request, reply, { file, disposition: asDownload(name), files })
    }
  })
}

/**
 * @param {string} url @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @param {Parameters<typeof sendFile>[3] & {file: import('./model.js').StoredFile}} sent
 */
const sendAt = async (url, request, reply, { file, ...options }) =>
  redirected(url, request, reply) ?? sendFile(request, reply, file, options)

/**
 * To one spelling, as a deletion purges no other one from caches.
 * @param {string} url @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @returns {import('fastify').FastifyReply | undefined} undefined: it is spelt so
 */
function redirected (url, request, reply) {
  return isMisspelt(request, url) ? reply.header('cache-control', 'no-store').redirect(url, 301) : undefined
}

/**
 * Only of names of its uploads: no link gives a file a name of its own, and a deletion purges every address.
 * @param {import('./model.js').StoredFile} file @param {string} name @throws {Error} 404
 */
function urlOfName (file, name) {
  if (!file.metadata.names?.includes(name)) throw new FileMissing()
  return urlOf(file, name)
}
