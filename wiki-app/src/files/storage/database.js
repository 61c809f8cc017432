import { Readable } from 'node:stream'
import mongoose from 'mongoose'
import { inChunks } from './chunks.js'
import { BytesMissing } from './storage.js'

/** @import {Types} from 'mongoose' */
/** @import {Storage} from './storage.js' */

/** So much of a picture is in memory while it is sent. */
const CHUNKS_PER_READ = 4
const LISTED_AT_ONCE = 1_000

/**
 * In the chunks of GridFS, so that its tools read them.
 * https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md
 * @param {ReturnType<typeof import('../model.js').defineFileModels>['Chunks']} Chunks
 * @param {boolean} isApart  of private spaces
 * @returns {Storage}
 */
export function createDatabaseStorage (Chunks, isApart) {
  /** @type {Storage} */
  const storage = {
    name: 'database',
    isApart,

    async put (id, bytes, nameAtEnd) {
      let n = 0
      try {
        for await (const data of inChunks(bytes)) {
          await Chunks.insertMany([{ _id: `${id.toHexString()}-${n}`, files_id: id, n, data }], { lean: true })
          n++
        }
        nameAtEnd()
      } catch (error) {
        await storage.remove({ id, name: null }).catch(() => {})
        throw error
      }
    },

    async read ({ id }, length) {
      const cursor = Chunks.find({ files_id: id }).sort({ n: 1 }).lean().cursor({ batchSize: CHUNKS_PER_READ })
      const first = await cursor.next()
      if (first !== null) return Readable.from(inOrder(first, cursor, length), { objectMode: false })
      await cursor.close()
      throw new BytesMissing('the database')
    },

    async remove ({ id }) {
      await Chunks.deleteMany({ files_id: id }).exec()
    },

    async * list () {
      for (let after = new mongoose.Types.ObjectId('0'.repeat(24)); ;) {
        /** @type {{files_id: Types.ObjectId}[]} */
        const found = await Chunks
          .find({ files_id: mongoose.trusted({ $gt: after }), n: 0 }, { _id: 0, files_id: 1 })
          .sort({ files_id: 1 })
          .limit(LISTED_AT_ONCE)
          .lean()
          .exec()
        for (const { files_id: id } of found) yield { id, name: null }
        if (found.length < LISTED_AT_ONCE) return
        after = found[found.length - 1].files_id
      }
    },

    internalUrl: () => null,
    // As the database itself.
    check: async () => {},
    readOwner: async () => null,
    writeOwner: async () => {},
    close () {}
  }
  return storage
}

/**
 * @typedef {{n: number, data: Buffer}} Chunk
 * @param {Chunk} first @param {{next: () => Promise<Chunk | null>, close: () => Promise<void>}} cursor  at the second
 * @param {number} length  of the picture @throws {Error} where a chunk is missing, so that the response breaks off
 */
async function * inOrder (first, cursor, length) {
  let [n, sent] = [0, 0]
  try {
    /** @type {Chunk | null} */
    let chunk = first
    for (; chunk !== null; chunk = await cursor.next()) {
      if (chunk.n !== n++) break
      sent += chunk.data.length
      yield chunk.data
    }
  } finally {
    await cursor.close()
  }
  if (sent !== length) throw new BytesMissing(`the database: ${sent} of ${length} bytes`)
}
