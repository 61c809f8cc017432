import mongoose from 'mongoose'

const { MongoClient, Binary } = mongoose.mongo
const DURATION_MS = 4_000
const PAGES = 1_000

/**
 * Saves a second that the driver alone reaches: page and revision in one transaction, on disk before it is acknowledged, as the wiki's are.
 * @param {string} uri
 * @param {{concurrency: number, content: string, html: Buffer}} options
 * @returns {Promise<number>}
 */
export async function driverSaves (uri, { concurrency, content, html }) {
  const client = await MongoClient.connect(uri, { writeConcern: { w: 'majority', journal: true } })
  try {
    const database = client.db()
    const [pages, revisions] = [database.collection('bare_pages'), database.collection('bare_revisions')]
    await pages.deleteMany({})
    await pages.insertMany(Array.from({ length: PAGES }, (_, page) => ({ _id: /** @type {any} */ (page), revision: 0 })))
    await revisions.deleteMany({})
    let saves = 0
    let next = 0
    const endsAt = performance.now() + DURATION_MS
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: concurrency }, async () => {
      while (performance.now() < endsAt) {
        const page = /** @type {any} */ (next++ % PAGES)
        await client.withSession((session) => session.withTransaction(async () => {
          await pages.updateOne({ _id: page }, { $inc: { revision: 1 }, $set: { content, html: new Binary(html) } }, { session })
          await revisions.insertOne({ page, content, at: new Date() }, { session })
        }))
        saves++
      }
    }))
    return saves / (performance.now() - startedAt) * 1_000
  } finally {
    await client.close()
  }
}
