import { waitUntil } from '@stevec/harness/processes'
import { MongoClient } from 'mongodb'
import { indexOfKey } from '../../scenarios/records.js'

/** The database goes on with a command whose client was killed. */
const SETTLED_WITHIN_MS = 30_000

/**
 * Opens the collection of a trial, to compare it with what was acknowledged.
 * @param {string} mongodbUri
 * @param {string} name
 */
export async function openCollection (mongodbUri, name) {
  const client = await MongoClient.connect(mongodbUri)
  /** @type {import('mongodb').Collection<{_id: string}>} */
  const collection = client.db().collection(name)

  /** https://www.mongodb.com/docs/manual/reference/operator/aggregation/currentOp/ */
  const isIdle = async () => (await client.db('admin').aggregate([
    // Those of the own user: to see them takes no privilege.
    { $currentOp: { allUsers: false, idleConnections: false } },
    { $match: { ns: collection.namespace, op: { $in: ['insert', 'command'] } } }
  ]).toArray()).length === 0

  return {
    /**
     * @param {string} mark  of the trial
     * @returns {Promise<Set<number>>} iterations whose record is stored
     */
    async stored (mark) {
      if (!await waitUntil(isIdle, SETTLED_WITHIN_MS)) {
        throw new Error('the database still inserts records of the trial')
      }
      const found = new Set()
      const keys = { _id: { $gte: `${mark}-`, $lt: `${mark}.` } }
      for await (const { _id: key } of collection.find(keys, { projection: { _id: 1 } })) found.add(indexOfKey(key))
      return found
    },

    /** What is left of the trial is removed: it would slow the next one. */
    async close () {
      await collection.drop().catch(() => {})
      await client.close()
    }
  }
}

/**
 * Compares the responses that the clients got with the records that the database has.
 * @param {Iterable<number>} acknowledged  iterations that were answered with 201 or 202
 * @param {Set<number>} stored
 * @returns {{acknowledged: number, stored: number, lost: number, stored_unacknowledged: number}}
 */
export function compareStored (acknowledged, stored) {
  let [count, lost] = [0, 0]
  for (const index of acknowledged) {
    count += 1
    if (!stored.has(index)) lost += 1
  }
  return { acknowledged: count, stored: stored.size, lost, stored_unacknowledged: stored.size - (count - lost) }
}
