/** @import {MongoClient, Timestamp} from 'mongodb' */

/**
 * Reads nothing from before a time of the database's log of operations, also at a primary that was elected since. What
 * a majority has is known to a new primary only once a write of its own is there, too; until then the read waits.
 * https://www.mongodb.com/docs/manual/core/causal-consistency-read-write-concerns/
 * @template T
 * @param {MongoClient} client @param {Timestamp} time @param {(options: object) => Promise<T>} read  with these options
 * @returns {Promise<T>}
 */
export async function causally (client, time, read) {
  const session = client.startSession({ causalConsistency: true })
  session.advanceOperationTime(time)
  try {
    return await read({ session, readConcern: { level: 'majority' } })
  } finally {
    await session.endSession()
  }
}
