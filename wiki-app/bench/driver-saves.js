import mongoose from 'mongoose'
import { hashOf } from '../src/hash.js'
import { RENDERER_VERSION } from '../src/markdown/version.js'
import { defineModels } from '../src/pages/model.js'

const DURATION_MS = 4_000
const PAGES = 1_000

/**
 * Saves a second that the driver alone reaches: the documents that the wiki writes, into collections with the wiki's indexes, page and revision in one
 * transaction, on disk before it is acknowledged. What is left out is all that the wiki does beside: HTTP, rendering, who may write, what came before.
 * @param {string} uri  of an empty database, or of one that this made
 * @param {{concurrency: number, texts: string[]}} options
 * @returns {Promise<number>}
 */
export async function driverSaves (uri, { concurrency, texts }) {
  const connection = await mongoose.createConnection(uri, { autoIndex: false, writeConcern: { w: 'majority', journal: true } }).asPromise()
  try {
    const models = defineModels(connection)
    for (const Model of [models.Pages, models.Revisions]) await Model.createIndexes()
    const client = connection.getClient()
    const pages = /** @type {import('mongoose').mongo.Collection<import('../src/pages/model.js').Page>} */ (client.db().collection('pages'))
    const revisions = client.db().collection('revisions')
    const state = (/** @type {number} */ page, /** @type {number} */ save) => {
      const content = texts[save % texts.length]
      const now = new Date()
      return {
        title_key: `page-${page}`, content, content_bytes: content.length, tags: [], links: [], html: Buffer.from(`<p>${content}</p>`), html_hash: hashOf(content), renderer: RENDERER_VERSION, rendered_at: now, modified_at: now, deleted_at: null, redirect_to: null
      }
    }
    await pages.deleteMany({})
    await revisions.deleteMany({})
    await pages.insertMany(Array.from({ length: PAGES }, (_, page) => ({ _id: `page-${page}`, revision: 0, created_at: new Date(), ...state(page, page) })))
    let saves = 0
    let next = 0
    const endsAt = performance.now() + DURATION_MS
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: concurrency }, async () => {
      while (performance.now() < endsAt) {
        const save = next++
        const name = `page-${save % PAGES}`
        const { html, html_hash: hash, ...kept } = state(save % PAGES, save + 1)
        await client.withSession((session) => session.withTransaction(async () => {
          await pages.updateOne({ _id: name }, { $set: { ...kept, html, html_hash: hash }, $inc: { revision: 1 } }, { session })
          await revisions.insertOne({ page: name, revision: save, follows: null, content: kept.content, content_bytes: kept.content_bytes, tags: [], author: '', summary: '', deleted: false, created_at: kept.modified_at }, { session })
        }))
        saves++
      }
    }))
    return saves / (performance.now() - startedAt) * 1_000
  } finally {
    await connection.close()
  }
}
