const SNAPSHOT_TOO_OLD = new Set([239, 246])

/**
 * Reads of the session see the database as it is at the first one.
 * https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/
 * @template T @param {import('mongodb').MongoClient} client @param {string} what  for the error
 * @param {(session: import('mongodb').ClientSession) => Promise<T>} read
 * @returns {Promise<T>}
 * @throws {Error} also when the snapshot expires (after 5 minutes by default)
 */
export async function atOneMoment (client, what, read) {
  const session = client.startSession({ snapshot: true })
  try {
    return await read(session)
  } catch (error) {
    throw SNAPSHOT_TOO_OLD.has(/** @type {any} */ (error).code) ? forgotten(what) : error
  } finally {
    await session.endSession()
  }
}

/** @param {string} what */
const forgotten = (what) => new Error(`the database forgot the moment of the ${what} before all was read; let it ` +
  'remember longer: db.adminCommand({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 3600 })')
