import createError from '@fastify/error'
import { personIn } from '../access/access.js'
import { englishSize, readableSize, readableTime } from '../readable.js'
import { readableAlt, visibleAuthor } from '../pages/visible.js'
import { attachmentName } from './attachment-name.js'
import { FileTooLarge } from './inspected.js'
import { spacePictureUrl } from '../spaces/addresses.js'
import { thumbnailUrlOf, urlOf } from './store.js'

/** @import {FastifyRequest, onRequestHookHandler} from 'fastify' */
/** @import {FileStore} from './store.js' */

const Broken = createError('WIKI_BROKEN_UPLOAD', 'The file did not arrive completely. Send it again.', 400)

const FORM_BYTES = 4_096

/** Before the name of a file: where it is named and deleted. */
export const PICTURE_URL = '/edit/picture'

/** @param {number} maxBytes @returns {onRequestHookHandler} */
export const refuseLarger = (maxBytes) => (request, reply, done) => {
  reply.header('cache-control', 'private, no-store')
  done(Number(request.headers['content-length'] ?? 0) > maxBytes + FORM_BYTES
    ? new FileTooLarge(englishSize(maxBytes))
    : undefined)
}

/**
 * The author is the signed-in user, whatever the form says.
 * @param {FileStore} files @param {FastifyRequest} request @param {AsyncIterable<Buffer>} source
 * @param {{author?: string, alt?: string, name?: string}} said  `alt`: what the picture shows; `name`: of the file;
 *   without one only pictures are taken
 * @returns {Promise<{item: ReturnType<typeof shown>, created: boolean}>} not created: it was there already, and gets
 *   this name only if it had none
 * @throws {Error} 400 when it breaks off, 413, 415
 */
export async function receive (files, request, source, { author, alt: shows = '', name: given }) {
  try {
    const by = personIn(request)?.name ?? visibleAuthor(author) ?? ''
    const alt = readableAlt(shows)
    const name = given === undefined ? undefined : attachmentName(given)
    // Of a form, a little more than the file.
    const { 'content-length': bytesMax } = request.headers
    const { file, created } = await files.save(whole(source), {
      author: by, alt, name, ...bytesMax !== undefined && { bytesMax: Number(bytesMax) }
    })
    const named = !created && alt !== '' && !file.metadata.alt ? await files.rename(file.filename, alt) : file
    return { item: shown(named ?? file, name), created }
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

/** What Markdown would take for a mark. */
const MARKS = /[\\`*_[\]<&~|$^]/g

/** @param {string} text */
const escaped = (text) => text.replace(MARKS, '\\$&')

/**
 * @param {import('./model.js').StoredFile} file
 * @param {string} [wanted]  name of an attachment; the first one where it does not have that
 */
export function shown (file, wanted = '') {
  const { filename, space, length, uploadDate, metadata } = file
  const { type, extension, names, width, height, author, alt = '' } = metadata
  const name = names?.includes(wanted) ? wanted : names?.[0]
  const url = urlOf(file, name)
  const size = readableSize(length)
  const at = uploadDate.toISOString()
  return {
    url,
    thumbnailUrl: thumbnailUrlOf(file),
    editUrl: `${space === undefined ? PICTURE_URL : spacePictureUrl(space)}/${filename}` +
      (extension === undefined ? '' : `.${extension}`),
    name,
    alt,
    markdown: name === undefined ? `![${escaped(alt)}](${url})` : `[${escaped(name)}](${url}) (${size})`,
    type,
    width,
    height,
    bytes: length,
    size,
    author,
    at,
    time: readableTime(at)
  }
}
