import { Readable } from 'node:stream'
import mongoose from 'mongoose'
import { createFileNames } from './file-names.js'
import { FORMER_NAMES_MAX, withFrontMatter } from './front-matter.js'

/** @import {Query} from 'mongoose' */

/** @typedef {{$eq?: string, $gt?: string, $lt?: string}} Range  of names */

/** A batch is decoded at once, which blocks others; a page may have 1 MiB. */
const BATCH = 8

/**
 * In the byte order of the names.
 * @param {Pick<import('../pages/model.js').Models, 'Pages' | 'Revisions'>} models
 * @param {Range[]} [ranges]  of names; all pages without
 * @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * pageFiles ({ Pages, Revisions }, ranges) {
  const among = (/** @type {'_id' | 'redirect_to'} */ field) =>
    ranges === undefined ? {} : { $or: ranges.map((range) => ({ [field]: mongoose.trusted({ ...range }) })) }
  const fileName = createFileNames()
  const former = inOrder(
    Pages.find({ redirect_to: mongoose.trusted({ $gt: '' }), ...among('redirect_to') }, { redirect_to: 1 })
      .sort({ redirect_to: 1, _id: 1 })
  )
  const fields = { content: 1, tags: 1, revision: 1, modified_at: 1, history: 1 }
  const pages = Pages.find({ deleted_at: null, ...among('_id') }, fields)
    .sort({ _id: 1 })
    .lean()
    .cursor({ batchSize: BATCH })
  try {
    for await (const { _id: name, content, tags = [], revision, modified_at: modifiedAt, history = name } of pages) {
      const formerNames = await former.of(name)
      const newest = await Revisions.findOne({ page: history, revision }, { author: 1 }).lean().exec()
      const known = {
        name,
        tags,
        revision,
        modified_at: modifiedAt.toISOString(),
        ...(newest?.author && { author: newest.author }),
        ...(formerNames.length > 0 && { former_names: formerNames })
      }
      yield { path: fileName(name), modifiedAt, open: () => Readable.from([bytesOf(withFrontMatter(known, content))]) }
    }
  } finally {
    await Promise.all([pages.close(), former.close()])
  }
}

/** Not in Node's buffer pool, which the zip's list of names would keep in memory. @param {string} text */
function bytesOf (text) {
  const { buffer, byteOffset, byteLength } = new TextEncoder().encode(text)
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** In step with the pages that they redirect to. @param {Query<any, any>} query  sorted by those */
function inOrder (query) {
  const cursor = query.lean().cursor({ batchSize: BATCH })
  /** @type {{_id: string, redirect_to: string} | null | undefined} */
  let next
  return {
    /** @param {string} name  sorts after that of the call before */
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
