import { createHash } from 'node:crypto'
import createError from '@fastify/error'
import { englishSize } from '../readable.js'
import { inspectImage, NotAnImage } from './image.js'

/** @import {Attachment} from './model.js' */
/** @import {Image} from './image.js' */

export const FileTooLarge = createError(
  'WIKI_FILE_TOO_LARGE',
  'The file is larger than %s. Make it smaller; save a picture as JPEG or WebP.',
  413
)
const Empty = createError('WIKI_EMPTY_FILE', 'The file is empty, or none was chosen. Choose a file first.', 400)

/** Browsers must not guess, and no program opens it by its type. */
const DOWNLOAD = 'application/octet-stream'

/** @param {import('node:crypto').Hash} hash  SHA-256 of the content */
export const nameOf = (hash) => hash.digest('hex').slice(0, 32)

/**
 * @typedef {{hash: string, length: number, kind: Image | (Attachment & {type: string})}} Found
 * @param {AsyncIterable<Buffer> | Buffer[]} source
 * @param {{maxBytes: number, name?: string}} options  `name`: of an attachment, if this is no picture
 * @returns what belongs to the file, and once all of it was read, what it is
 */
export function inspected (source, { maxBytes, name }) {
  /** @type {Found | undefined} */
  let found

  async function * pieces () {
    const hash = createHash('sha256')
    const inspection = createInspection(name)
    let [arrived, length] = [0, 0]
    try {
      for await (const piece of source) {
        arrived += piece.length
        if (arrived > maxBytes) throw new FileTooLarge(englishSize(maxBytes))
        const part = await inspection.feed(piece)
        if (part.length === 0) continue
        hash.update(part)
        length += part.length
        yield part
      }
      if (arrived === 0) throw new Empty()
      found = { kind: await inspection.end(), hash: nameOf(hash), length }
    } finally {
      inspection.stop()
    }
  }

  return { pieces, found: () => /** @type {Found} */ (found) }
}

/**
 * A picture, or any file that does not begin as one: a damaged picture is refused, so that it is sent again whole.
 * @param {string} [name]
 */
function createInspection (name) {
  const image = inspectImage()
  /** What was fed before is part of it: only the first bytes decide. @type {Found['kind'] | undefined} */
  let attachment
  const orAttachment = (/** @type {unknown} */ error) => {
    if (!(error instanceof NotAnImage) || name === undefined) throw error
    attachment = { type: DOWNLOAD, names: [name] }
  }

  return {
    /** @param {Buffer} piece @returns {Promise<Buffer>} what belongs to the file */
    async feed (piece) {
      if (attachment !== undefined) return piece
      try {
        return await image.feed(piece)
      } catch (error) {
        orAttachment(error)
        return piece
      }
    },

    stop: image.stop,

    /** @returns {Promise<Found['kind']>} */
    async end () {
      if (attachment === undefined) {
        try {
          return await image.end()
        } catch (error) {
          orAttachment(error)
        }
      }
      return /** @type {Found['kind']} */ (attachment)
    }
  }
}
