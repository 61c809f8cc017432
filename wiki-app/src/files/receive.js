import createError from '@fastify/error'
import { personIn } from '../access/access.js'
import { readableSize, readableTime } from '../pages/document.js'
import { visibleAuthor } from '../pages/visible.js'
import { FileTooLarge } from './store.js'

/** @import {FastifyRequest, onRequestHookHandler} from 'fastify' */
/** @import {FileStore} from './store.js' */

const Broken = createError('WIKI_BROKEN_UPLOAD', 'The file did not arrive whole. Send it again.', 400)

const FORM_BYTES = 4_096

/** @param {number} maxBytes @returns {onRequestHookHandler} */
export const refuseLarger = (maxBytes) => (request, reply, done) => {
  reply.header('cache-control', 'private, no-store')
  done(Number(request.headers['content-length'] ?? 0) > maxBytes + FORM_BYTES ? new FileTooLarge(maxBytes) : undefined)
}

/**
 * The author is the signed-in user, whatever the form says.
 * @param {FileStore} files @param {FastifyRequest} request @param {AsyncIterable<Buffer>} source @param {string} author
 * @returns {Promise<{item: ReturnType<typeof shown>, created: boolean}>} not created: it was there already
 * @throws {Error} 400 when it breaks off, 413, 415
 */
export async function receive (files, request, source, author) {
  try {
    const by = personIn(request)?.name ?? visibleAuthor(author) ?? ''
    const { file, created } = await files.save(whole(source), by)
    return { item: shown(file), created }
  } catch (error) {
    // A client that still sends would not read the response.
    request.raw.resume()
    throw error
  }
}

/** @param {Error & {statusCode?: number}} error @returns {never} */
export function asRefusal (error) {
  throw error.statusCode === undefined ? new Broken() : error
}

/** @param {AsyncIterable<Buffer>} source */
async function * whole (source) {
  try {
    yield * source
  } catch (error) {
    asRefusal(/** @type {Error} */ (error))
  }
}

/** @param {import('./model.js').StoredFile} file */
export function shown ({ filename, length, uploadDate, metadata: { type, extension, width, height, author } }) {
  const url = `/files/${filename}.${extension}`
  const at = uploadDate.toISOString()
  return {
    url,
    markdown: `![](${url})`,
    type,
    width,
    height,
    bytes: length,
    size: readableSize(length),
    author,
    at,
    time: readableTime(at)
  }
}
