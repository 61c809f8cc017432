import { MongoBulkWriteError, MongoServerError } from 'mongodb'

/** @typedef {import('mongodb').Collection<import('../record.js').Stored>} Records */

/**
 * A record on its way to the database.
 * @typedef {object} Item
 * @property {import('../record.js').Stored} record
 * @property {(error: Error | null) => void} settled  called once: it is stored, or it failed
 */

/**
 * On disk, like the wiki's pages: a crash of the database must not lose a stored record. The driver repeats an insert
 * whose connection broke, once.
 */
export const WRITE_CONCERN = Object.freeze({ w: 'majority', journal: true })

const DUPLICATE_KEY = 11000

/** The key of a record is another record's. */
export class TakenKey extends Error {}

/**
 * @param {Records} records
 * @param {Item} item
 */
export async function insertOne (records, { record, settled }) {
  await records.insertOne(record).then(() => settled(null), (error) => settled(asTaken(error)))
}

/**
 * Inserts a batch in one command. Unordered: a refused record does not hold up the ones behind it.
 * https://www.mongodb.com/docs/manual/reference/method/db.collection.insertMany/#unordered-inserts
 * @param {Records} records
 * @param {Item[]} batch
 */
export async function insertBatch (records, batch) {
  const errors = await records.insertMany(batch.map(({ record }) => record), { ordered: false })
    .then(() => new Map(), errorsOf)
  batch.forEach(({ settled }, index) => settled(errors instanceof Map ? errors.get(index) ?? null : errors))
}

/**
 * @param {any} error
 * @returns {Map<number, Error> | Error} by the place in the batch; or of all, when it is not known which are stored
 */
function errorsOf (error) {
  const each = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
  if (each.length === 0 || error.result?.getWriteConcernError()) return error
  return new Map(each.map((one) => [one.index, one.code === DUPLICATE_KEY ? new TakenKey() : error]))
}

/** @param {any} error @returns {Error} */
const asTaken = (error) => error instanceof MongoServerError && error.code === DUPLICATE_KEY ? new TakenKey() : error
