/** @import {Connection} from 'mongoose' */
/** @import {DeferredSave} from './save.js' */

export const FAILURES_COLLECTION = 'failed_saves'
/** The newest; the database drops the oldest (https://www.mongodb.com/docs/manual/core/capped-collections/). */
const CAPPED = { capped: true, max: 10_000, size: 8_388_608 }
const [NAMESPACE_EXISTS, DUPLICATE_KEY] = [48, 11_000]

/**
 * RFC 9457.
 * @typedef {ReturnType<typeof import('../http/problem.js').problemOf> & {current_revision?: number}} Problem
 */
/** @typedef {{_id: string, page: string, problem: Problem, failed_at: Date}} Failure */

/**
 * Saves that were acknowledged and could not be made.
 * @param {Connection} connection
 */
export function createFailures (connection) {
  const collection = () => /** @type {import('mongodb').Collection<Failure>} */ (
    /** @type {import('mongodb').Db} */ (connection.db).collection(FAILURES_COLLECTION))

  return {
    /** @param {import('mongodb').Db} db */
    async prepare (db) {
      try {
        await db.createCollection(FAILURES_COLLECTION, CAPPED)
      } catch (error) {
        if (/** @type {any} */ (error).code !== NAMESPACE_EXISTS) throw error
      }
    },

    /** @param {Pick<DeferredSave, 'id' | 'name'>} save @param {Problem} problem */
    async add ({ id, name: page }, problem) {
      try {
        const options = { writeConcern: { w: /** @type {const} */ ('majority') } }
        await collection().insertOne({ _id: id, page, problem, failed_at: new Date() }, options)
      } catch (error) {
        // An earlier attempt has done it.
        if (/** @type {any} */ (error).code !== DUPLICATE_KEY) throw error
      }
    },

    /** @param {string} id @param {string} [page] @returns {Promise<Problem | null>} null: none is known */
    async find (id, page) {
      return (await collection().findOne({ _id: id, ...page !== undefined && { page } }))?.problem ?? null
    },

    /** @param {string[]} ids @returns {Promise<Set<string>>} those that have failed */
    async among (ids) {
      const found = await collection().find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray()
      return new Set(found.map(({ _id }) => _id))
    }
  }
}

/** @typedef {ReturnType<typeof createFailures>} Failures */
