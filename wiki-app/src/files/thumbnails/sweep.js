import mongoose from 'mongoose'

/** @import {Types} from 'mongoose' */
/** @import {FileModels} from '../model.js' */

const CHECKED_AT_ONCE = 500

/**
 * Removes thumbnails whose picture is gone: a deletion by an older version of the wiki knows nothing of them.
 * @param {Pick<FileModels, 'Files' | 'Thumbnails'>} models @param {AbortSignal} [signal]
 * @returns {Promise<number>} removed ones
 */
export async function sweepThumbnails ({ Files, Thumbnails }, signal) {
  let removed = 0
  for (let after = new mongoose.Types.ObjectId('0'.repeat(24)); ;) {
    signal?.throwIfAborted()
    const later = { _id: mongoose.trusted({ $gt: after }) }
    const part = /** @type {{_id: Types.ObjectId}[]} */ (
      await Thumbnails.find(later, { _id: 1 }).sort({ _id: 1 }).limit(CHECKED_AT_ONCE).lean().exec())
    if (part.length === 0) return removed
    const ids = part.map(({ _id }) => _id)
    after = ids[ids.length - 1]
    const present = await Files.distinct('_id', { _id: mongoose.trusted({ $in: ids }) }).exec()
    const there = new Set(present.map(String))
    const gone = ids.filter((id) => !there.has(String(id)))
    if (gone.length === 0) continue
    await Thumbnails.deleteMany({ _id: mongoose.trusted({ $in: gone }) }).exec()
    removed += gone.length
  }
}
