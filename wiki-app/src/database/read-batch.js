/**
 * The driver's cursor costs a tenth of a page view, and keeps the reply in memory until V8 collects old objects.
 * @param {import('mongoose').Model<any>} Model @param {object} filter @param {Record<string, number>} projection
 * @param {number} documentsMax
 * @param {import('mongodb').Timestamp} [afterClusterTime]  nothing is from before it: see causally.js
 * @returns {Promise<any[] | null>} null: more than one reply (16 MiB), or a failure, not retried
 */
export async function readBatch (Model, filter, projection, documentsMax, afterClusterTime) {
  const { db } = /** @type {{db: import('mongodb').Db}} */ (/** @type {unknown} */ (Model.db))
  const find = Model.collection.name
  try {
    // Above the possible number, so the reply says that it is the last (id 0).
    const { readConcern: own } = /** @type {import('mongoose').Connection} */ (Model.db).db ?? {}
    // The driver adds it to no command that it is given.
    const readConcern = afterClusterTime === undefined ? own : { level: own?.level, afterClusterTime }
    const command = { find, filter, projection, batchSize: documentsMax + 1, ...readConcern && { readConcern } }
    const { cursor: { id, firstBatch } } = await db.command(command, { promoteBuffers: true })
    if (Number(id) === 0) return firstBatch
    db.command({ killCursors: find, cursors: [id] }).catch(() => {})
  } catch {}
  return null
}
