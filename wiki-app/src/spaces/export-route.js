import { spaceIn } from '../access/access.js'
import { zipOf } from '../archive/zip.js'
import { createSemaphore } from '../http/semaphore.js'
import { SPACE_EXPORT_URL } from './addresses.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {ZipItem} from '../archive/zip.js' */
/** @import {Space} from './model.js' */

const EXPORTS_MAX = 2
const SPACE = { type: 'object', required: ['space'], properties: { space: { type: 'string', maxLength: 200 } } }
const config = { role: 'admin', placed: true, costly: 'export' }

/**
 * For those that administer the space.
 * @param {FastifyInstance} app @param {(space: Space) => AsyncIterable<ZipItem>} archived
 */
export function addSpaceExport (app, archived) {
  const exports = createSemaphore(EXPORTS_MAX)

  app.get(SPACE_EXPORT_URL, { config, schema: { querystring: SPACE } }, async (request, reply) => {
    const space = /** @type {Space} */ (spaceIn(request))
    reply.headers({ 'content-disposition': 'attachment; filename="space.zip"' }).type('application/zip')
    if (request.method === 'HEAD') return reply.send()
    reply.raw.once('close', exports.take())
    return zipOf(archived(space))
  })
}
