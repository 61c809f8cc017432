import createError from '@fastify/error'
import { englishSize } from '../readable.js'

/** @import {FileModels} from './model.js' */

const Full = createError('WIKI_FILES_FULL', 'The files of this wiki have %s together, of at most %s: this one does ' +
  'not fit. Delete some that no page needs, or ask the operator of the wiki to raise UPLOADS_MAX_MIB.', 413)

/** Counting reads a document for each file. */
const COUNTED_EVERY_MS = 60_000

/** @typedef {ReturnType<typeof createRoom>} Room */

/**
 * For all files together, public and private. Uploads that run count with all that they may bring. Those of other
 * processes are not known, and what they stored is seen once a minute: by so much the limit may be passed.
 * @param {Pick<FileModels, 'Files'>[]} kinds @param {number} maxBytes  0: no limit
 */
export function createRoom (kinds, maxBytes) {
  let [bytes, countedAt] = [0, -Infinity]
  let [reserved, taken] = [0, 0]

  async function count () {
    const before = taken
    /** @type {{bytes: number}[][]} */
    const totals = await Promise.all(kinds.map(({ Files }) =>
      Files.aggregate([{ $group: { _id: null, bytes: { $sum: '$length' } } }]).exec()))
    const total = totals.flat().reduce((sum, kind) => sum + kind.bytes, 0)
    // What was stored meanwhile may be missing from the total: rather twice than not at all, until the next count.
    bytes = total + taken - before
    countedAt = performance.now()
  }

  return {
    /**
     * @param {number} wanted  bytes
     * @returns {Promise<(() => void) | null>} to be called once the file is stored, or is not; null: it does not fit
     */
    async reserve (wanted) {
      if (maxBytes === 0) return () => {}
      const fits = () => bytes + reserved + wanted <= maxBytes
      if (performance.now() - countedAt > COUNTED_EVERY_MS) await count()
      // Files that were deleted since count no longer.
      if (!fits()) await count()
      if (!fits()) return null
      reserved += wanted
      return () => { reserved -= wanted }
    },

    full: () => new Full(englishSize(bytes), englishSize(maxBytes)),

    /** @param {number} length  of a file that was stored */
    take (length) {
      bytes += length
      taken += length
    }
  }
}
