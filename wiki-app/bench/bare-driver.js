import mongoose from 'mongoose'
import { hashOf } from '../src/http/hash.js'
import { RENDERER_VERSION } from '../src/markdown/version.js'
import { defineModels } from '../src/pages/model.js'

const DURATION_MS = 4_000
const PAGES = 1_000

/**
 * The base for saves: the database driver alone. It writes the same documents as the wiki into collections with the
 * wiki's indexes, page and revision in one transaction, on disk before it is acknowledged. It leaves out all that the
 * wiki does besides: HTTP, rendering, access control, the previous revision.
 * @param {string} uri  of an empty database
 * @param {string[]} texts
 * @returns {Promise<{saves: (concurrency: number) => Promise<number>, close: () => Promise<void>}>} `saves` resolves
 *   with saves per second
 */
export async function openBareDriver (uri, texts) {
  const connection = await mongoose
    .createConnection(uri, { autoIndex: false, writeConcern: { w: 'majority', journal: true } })
    .asPromise()
  const models = defineModels(connection)
  for (const Model of [models.Pages, models.Revisions]) await Model.createIndexes()
  const client = connection.getClient()
  const pages = /** @type {import('mongoose').mongo.Collection<import('../src/pages/model.js').Page>} */ (
    client.db().collection('pages')
  )
  const revisions = client.db().collection('revisions')
  let next = 0

  await pages.insertMany(Array.from({ length: PAGES }, (_, page) =>
    ({ _id: `page-${page}`, revision: 0, created_at: new Date(), ...pageState(page, texts[page % texts.length]) })))

  async function save () {
    const number = next++
    const name = `page-${number % PAGES}`
    // Each save of a page has another text: an unchanged text would not update the text index.
    const changed = pageState(number % PAGES, texts[(7 * number + 13 * Math.floor(number / PAGES) + 1) % texts.length])
    await client.withSession((session) => session.withTransaction(async () => {
      await pages.updateOne({ _id: name }, { $set: changed, $inc: { revision: 1 } }, { session })
      await revisions.insertOne({
        page: name,
        revision: number,
        follows: null,
        content: changed.content,
        content_bytes: changed.content_bytes,
        tags: [],
        author: '',
        summary: '',
        deleted: false,
        created_at: changed.modified_at
      }, { session })
    }))
  }

  return {
    async saves (concurrency) {
      const first = next
      const startedAt = performance.now()
      const endsAt = startedAt + DURATION_MS
      await Promise.all(Array.from({ length: concurrency }, async () => {
        while (performance.now() < endsAt) await save()
      }))
      return (next - first) / (performance.now() - startedAt) * 1_000
    },
    close: () => connection.close()
  }
}

/** @param {number} page @param {string} content */
function pageState (page, content) {
  const now = new Date()
  return {
    search_key: `page-${page}`,
    content,
    content_bytes: content.length,
    tags: [],
    links: [],
    html: Buffer.from(`<p>${content}</p>`),
    html_hash: hashOf(content),
    renderer: RENDERER_VERSION,
    rendered_at: now,
    modified_at: now,
    deleted_at: null,
    redirect_to: null
  }
}
