import { spaceIn } from '../access/access.js'
import { zipOf } from '../archive/zip.js'
import { SPACE_EXPORT_URL } from './addresses.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {ZipItem} from '../archive/zip.js' */
/** @import {Space} from './model.js' */

const SPACE = { type: 'object', required: ['space'], properties: { space: { type: 'string', maxLength: 200 } } }
const config = { role: 'admin', placed: true, costly: 'export' }

/**
 * `exportSlots`: for all ways to it.
 * @typedef {{archived: (space: Space) => AsyncIterable<ZipItem>, exportSlots: {take: () => () => void}}} Exports
 */

/** For those that administer the space. @param {FastifyInstance} app @param {Exports} exports */
export function addSpaceExport (app, exports) {
  app.get(SPACE_EXPORT_URL, { config, schema: { querystring: SPACE } }, createSpaceExport(exports))
}

/** @param {Exports} exports  a handler, where the route finds the space */
export const createSpaceExport = ({ archived, exportSlots }) =>
  /** @param {FastifyRequest} request @param {FastifyReply} reply */
  async function sendSpace (request, reply) {
    const space = /** @type {Space} */ (spaceIn(request))
    reply.headers({ 'content-disposition': 'attachment; filename="space.zip"' }).type('application/zip')
    if (request.method === 'HEAD') return reply.send()
    reply.raw.once('close', exportSlots.take())
    return zipOf(archived(space))
  }
