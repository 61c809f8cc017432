import createError from '@fastify/error'
import { t } from '../language.js'
import { personIn } from '../access/access.js'
import { ALT_SCHEMA, AUTHOR_SCHEMA } from '../writing/change.js'
import { viewUrl } from '../pages/name.js'
import { readableAlt, visibleAuthor } from '../pages/visible.js'
import { englishTime } from '../readable.js'
import { freshnessNotice, noTexts } from '../search/freshness.js'
import { refuseUnsure, SURE } from '../http/second-step.js'
import { HTML, renderFor } from '../views.js'
import { shown } from './receive.js'
import { FILES_URL } from './store.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */
/** @import {StoredFile} from './model.js' */
/** @import {FileStore} from './store.js' */

export const FileMissing = createError('WIKI_FILE_MISSING', 'There is no such file.', 404)
const FileDeleted = createError('WIKI_FILE_DELETED', 'The %s at this address was deleted on %s.', 404)

/** More of the pages that show a picture are not named. */
const PAGES_MAX = 20

const NAME_SCHEMA = {
  type: 'object', required: ['alt'], additionalProperties: false, properties: { alt: ALT_SCHEMA, author: AUTHOR_SCHEMA }
}
const DELETE_SCHEMA = {
  type: 'object', nullable: true, additionalProperties: false, properties: { author: AUTHOR_SCHEMA, ...SURE }
}

/**
 * Of a route with `:file`: a picture has an extension, an attachment none.
 * @param {FastifyRequest} request @param {FileStore} files
 * @returns {Promise<StoredFile>} @throws {Error} 404, which says when it was deleted
 */
export const fileIn = ({ params }, files) => fileCalled(/** @type {{file: string}} */ (params).file, files)

/** @param {string} called  as in the address @param {FileStore} files @throws {Error} 404 */
export async function fileCalled (called, files) {
  const [, hash, extension] = /^([0-9a-f]{32})(?:\.(png|jpg|webp|gif))?$/.exec(called) ?? []
  if (hash === undefined) throw new FileMissing()
  const file = await files.find(hash)
  if (file !== null && file.metadata.extension === extension) return file
  const deleted = file === null ? await files.findDeleted(hash) : null
  if (deleted === null) throw new FileMissing()
  throw new FileDeleted(extension === undefined ? 'file' : 'picture', englishTime(deleted.deleted_at.toISOString()))
}

/**
 * The name of a picture, and its end.
 * @type {import('fastify').FastifyPluginAsync<Pick<Services, 'files' | 'search'>>}
 */
export async function pictureRoutes (app, { files, search }) {
  addPicture(app, {
    url: (verb) => `/edit/${verb}/:file`,
    configOf: (costly) => ({ ...costly && { costly } }),
    found: async (request) => ({ files, file: await fileIn(request, files), listUrl: FILES_URL }),

    async pagesWith ({ filename }) {
      // Its address has one word that no other has.
      const found = await search.byText({ q: filename, skip: 0, limit: PAGES_MAX }).catch(noTexts)
      return {
        pages: found.items.map(({ name }) => ({ name, url: viewUrl(name) })),
        more: found.more,
        notice: 'unavailable' in found ? found.unavailable : freshnessNotice(found.freshness)
      }
    }
  })
}

/**
 * @typedef {object} Place  where the files are
 * @property {(verb: 'picture' | 'delete-picture') => string} url  pattern
 * @property {(costly?: 'text') => object} configOf
 * @property {(request: FastifyRequest) => Promise<{files: FileStore, file: StoredFile, listUrl: string}>} found
 *   rejects with 404
 * @property {(file: StoredFile) => Promise<{pages: {name: string, url: string}[], more: boolean, notice: string}>}
 *   [pagesWith]  that show it; none: they are not looked for
 */

/** @param {import('fastify').FastifyInstance} app @param {Place} place */
export function addPicture (app, { url, configOf, found, pagesWith }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get(url('picture'), { config: configOf(pagesWith && 'text') }, async (request, reply) => {
    const { file, listUrl } = await found(request)
    const item = shown(file)
    return reply.type(HTML).send(renderFor(request, 'picture', {
      title: item.alt || (item.name ?? t('Picture of {{time}}', { time: item.time })),
      item,
      altMaxChars: ALT_SCHEMA.maxLength,
      others: file.metadata.names?.slice(1).map((name) => shown(file, name).markdown) ?? [],
      deleteUrl: item.editUrl.replace('/picture/', '/delete-picture/'),
      listUrl,
      pages: null,
      ...await pagesWith?.(file)
    }))
  })

  app.post(url('picture'), { config: configOf(), schema: { body: NAME_SCHEMA } }, async (request, reply) => {
    const { files, file, listUrl } = await found(request)
    await files.rename(file.filename, readableAlt(/** @type {{alt: string}} */ (request.body).alt))
    return reply.redirect(listUrl, 303)
  })

  app.post(url('delete-picture'), { config: configOf(), schema: { body: DELETE_SCHEMA } }, async (request, reply) => {
    refuseUnsure(request)
    const { author } = /** @type {{author?: string}} */ (request.body ?? {})
    const { files, file, listUrl } = await found(request)
    await files.remove(file, personIn(request)?.name ?? visibleAuthor(author) ?? '')
    return reply.redirect(listUrl, 303)
  })
}
