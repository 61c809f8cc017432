import { Readable } from 'node:stream'
import mongoose from 'mongoose'
import { createFileNames } from './file-names.js'
import { FORMER_NAMES_MAX, withFrontMatter } from './front-matter.js'

/** All of a batch is decoded at once, and a page may have 1 MiB: other requests wait meanwhile. */
const BATCH = 8

/**
 * Every page as a file, in the order of the names' bytes. Each is the page as it is when its turn comes.
 * @param {ReturnType<typeof import('../pages/model.js').defineModels>} models
 * @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * pageFiles ({ Pages }) {
  const fileName = createFileNames()
  const former = inOrder(Pages.find({ redirect_to: mongoose.trusted({ $gt: '' }) }, { redirect_to: 1 }).sort({ redirect_to: 1, _id: 1 }))
  const pages = Pages.find({ deleted_at: null }, { content: 1, tags: 1, revision: 1, modified_at: 1 }).sort({ _id: 1 }).lean().cursor({ batchSize: BATCH })
  try {
    for await (const { _id: name, content, tags = [], revision, modified_at: modifiedAt } of pages) {
      const formerNames = await former.of(name)
      const known = { name, tags, revision, modified_at: modifiedAt.toISOString(), ...(formerNames.length > 0 && { former_names: formerNames }) }
      yield { path: fileName(name), modifiedAt, open: () => Readable.from([bytesOf(withFrontMatter(known, content))]) }
    }
  } finally {
    await Promise.all([pages.close(), former.close()])
  }
}

/**
 * Memory of its own: of a page in Node's pool, the zip's list of names would keep what is around them.
 * @param {string} text
 */
function bytesOf (text) {
  const { buffer, byteOffset, byteLength } = new TextEncoder().encode(text)
  return Buffer.from(buffer, byteOffset, byteLength)
}

/**
 * Former names, read along with the names that they lead to.
 * @param {import('mongoose').Query<any, any>} query  in the order of those
 */
function inOrder (query) {
  const cursor = query.lean().cursor({ batchSize: BATCH })
  /** @type {{_id: string, redirect_to: string} | null | undefined} */
  let next
  return {
    /** @param {string} name  behind the one before */
    async of (name) {
      const names = []
      for (next = next === undefined ? await cursor.next() : next; next; next = await cursor.next()) {
        const order = Buffer.compare(Buffer.from(next.redirect_to), Buffer.from(name))
        if (order > 0) break
        if (order === 0 && names.length < FORMER_NAMES_MAX) names.push(next._id)
      }
      return names
    },
    close: () => cursor.close()
  }
}
