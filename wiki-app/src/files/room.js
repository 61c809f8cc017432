import createError from '@fastify/error'
import { readableSize } from '../readable.js'

/** @import {defineFileModels} from './model.js' */

const Full = createError('WIKI_FILES_FULL', 'The files of this wiki have %s together; more are not taken. ' +
  'Delete some that no page needs, or ask who runs the wiki to raise UPLOADS_MAX_MIB.', 413)

/** Counting reads a document for each file. */
const COUNTED_EVERY_MS = 60_000

/** @typedef {ReturnType<typeof createRoom>} Room */

/**
 * For all files together. Other wikis of the database are seen once a minute, so they may go beyond the limit by what
 * they take within that time.
 * @param {Pick<ReturnType<typeof defineFileModels>, 'Files'>} models @param {number} maxBytes  0: no limit
 */
export function createRoom ({ Files }, maxBytes) {
  let [bytes, countedAt] = [0, -Infinity]

  async function count () {
    /** @type {{bytes: number}[]} */
    const [total] = await Files.aggregate([{ $group: { _id: null, bytes: { $sum: '$length' } } }]).exec()
    bytes = total?.bytes ?? 0
    countedAt = performance.now()
  }

  return {
    /** @throws {Error} 413 when nothing more fits */
    async admit () {
      if (maxBytes === 0) return
      if (performance.now() - countedAt > COUNTED_EVERY_MS) await count()
      // Files that were deleted since count no longer.
      if (bytes >= maxBytes) await count()
      if (bytes >= maxBytes) throw new Full(readableSize(bytes))
    },

    /** @param {number} length  of a file that was stored */
    take (length) { bytes += length }
  }
}
