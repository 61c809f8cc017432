import { personIn, spaceIn } from '../access/access.js'
import { keepFromCaches } from '../access/private-answers.js'
import { asDownload } from '../files/attachment-name.js'
import { addPicture, fileCalled, FileMissing } from '../files/picture-routes.js'
import { shown } from '../files/receive.js'
import { FILES_PER_PART } from '../files/routes.js'
import { sendFile, sendThumbnail } from '../files/send-file.js'
import { isThumbnail } from '../files/thumbnails/thumbnails.js'
import { addUpload } from '../files/upload.js'
import { t } from '../language.js'
import { FILE, IN, pageAsked } from '../reading/address.js'
import { HTML, renderFor } from '../views.js'
import { SPACE_FILES_URL, spaceFilesListUrl, spaceUploadUrl } from './addresses.js'
import { NoSpace } from './find-space.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {SpaceFiles} from './files.js' */
/** @import {Space} from './model.js' */

const LIST = {
  type: 'object',
  required: ['space'],
  properties: { space: { type: 'string', maxLength: 200 }, before: { type: 'string', pattern: '^[0-9a-f]{24}$' } }
}

/** @param {import('../access/roles.js').Role} role */
const configOf = (role) => ({ role, placed: true })

/** @param {FastifyRequest} request @returns {Space} @throws {Error} 404 */
function existing (request) {
  const space = spaceIn(request)
  if (space === null) throw new NoSpace(pageAsked(request) ?? /** @type {{space: string}} */ (request.query).space)
  return space
}

/**
 * Pictures and files of private spaces: as public ones, with the store of the space in the address.
 * @type {FastifyPluginAsync<SpaceFiles & {maxBytes: number}>}
 */
export async function spaceFilesRoutes (app, { filesOf, maxBytes }) {
  app.addHook('onSend', keepFromCaches)
  const filesIn = (/** @type {FastifyRequest} */ request) => filesOf(existing(request), personIn(request))
  const listUrlOf = (/** @type {FastifyRequest} */ request) => spaceFilesListUrl(existing(request)._id)

  addReading(app, filesIn)
  addPicture(app, {
    url: (verb) => `${IN}/${verb}/*`,
    configOf: () => configOf('editor'),

    async found (request) {
      const files = filesIn(request)
      return { files, file: await fileCalled(partsIn(request).file, files), listUrl: listUrlOf(request) }
    }
  })
  await app.register(async (scope) => addUpload(scope, {
    url: `${IN}/upload/*`, config: configOf('editor'), maxBytes, filesOf: filesIn, listUrlOf
  }))
}

/** @param {FastifyInstance} app @param {(request: FastifyRequest) => ReturnType<SpaceFiles['filesOf']>} filesIn */
function addReading (app, filesIn) {
  app.get(SPACE_FILES_URL, {
    config: { ...configOf('reader'), costly: 'list' }, schema: { querystring: LIST }
  }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { _id: root } = existing(request)
    const { items, more } = await filesIn(request).list({ before, limit: FILES_PER_PART })
    const url = spaceFilesListUrl(root)
    return reply.type(HTML).send(renderFor(request, 'files', {
      title: t('Pictures and files of the private space “{{name}}”', { name: root }),
      items: items.map((file) => shown(file)),
      one: false,
      first: before === undefined,
      url,
      uploadUrl: spaceUploadUrl(root),
      nextUrl: more ? `${url}&before=${items[items.length - 1]._id}` : null,
      firstUrl: url
    }))
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: `${SPACE_FILES_URL}/*`,
    config: configOf('reader'),
    handler: async (request, reply) => {
      const files = filesIn(request)
      const { file: called, name } = partsIn(request)
      const file = await fileCalled(called, files)
      if (name !== undefined && isThumbnail(file, name)) return sendThumbnail(request, reply, file, { files })
      const { names } = file.metadata
      if (name === undefined ? names !== undefined : !names?.includes(name)) throw new FileMissing()
      return sendFile(request, reply, file, { disposition: name === undefined ? 'inline' : asDownload(name), files })
    }
  })
}

/** @param {FastifyRequest} request @returns {{file: string, name?: string}} @throws {Error} 404 */
function partsIn ({ params }) {
  const [, , file, name] = FILE.exec(/** @type {{'*': string}} */ (params)['*']) ?? []
  if (file === undefined) throw new FileMissing()
  return { file, name }
}
