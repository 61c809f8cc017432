import mongoose from 'mongoose'

/**
 * A command to a collection as the database gets it, one for each statement of it.
 * @typedef {object} Sent
 * @property {string} collection
 * @property {string} kind  find, insert, updateOne, updateMany, deleteOne, deleteMany, change stream, …
 * @property {Record<string, any>} filter  of an insert: the document
 * @property {number} [limit]  of a find; absent: none
 */

/** Of the session or the server, or the rest of a read that was counted already. */
const OTHERS = new Set([
  'hello', 'ping', 'endSessions', 'commitTransaction', 'abortTransaction', 'getMore', 'killCursors', 'create',
  'createIndexes', 'listIndexes', 'dropIndexes', 'listCollections'
])

/** @type {Record<string, (command: any) => Omit<Sent, 'collection'>[]>} */
const STATEMENTS = {
  insert: ({ documents }) => documents.map((/** @type {any} */ filter) => ({ kind: 'insert', filter })),
  update: ({ updates }) => updates.map((/** @type {any} */ { q: filter, multi = false }) =>
    ({ kind: multi ? 'updateMany' : 'updateOne', filter })),
  delete: ({ deletes }) => deletes.map((/** @type {any} */ { q: filter, limit }) =>
    ({ kind: limit === 1 ? 'deleteOne' : 'deleteMany', filter })),
  find: ({ filter = {}, limit }) => [{ kind: 'find', filter, limit }],
  findAndModify: ({ query }) => [{ kind: 'findAndModify', filter: query }],
  count: ({ query = {} }) => [{ kind: 'count', filter: query }],
  distinct: ({ query = {} }) => [{ kind: 'distinct', filter: query }],
  aggregate: ({ pipeline }) => '$changeStream' in pipeline[0]
    ? [{ kind: 'change stream', filter: {} }]
    : [{ kind: 'aggregate', filter: pipeline[0].$match ?? {} }]
}

/**
 * Records what mongoose connections that `build` makes send to their database, whose URI has `monitorCommands=true`.
 * @template T @param {() => Promise<T>} build
 * @returns {Promise<{built: T, sent: Sent[]}>}
 * @throws {Error} from the listener at a command that is not known here
 */
export async function recordCommands (build) {
  const before = new Set(mongoose.connections)
  const built = await build()
  /** @type {Sent[]} */
  const sent = []
  for (const connection of mongoose.connections.filter((each) => !before.has(each))) {
    connection.getClient().on('commandStarted', ({ commandName, command }) => {
      if (!OTHERS.has(commandName)) sent.push(...statementsOf(commandName, command))
    })
  }
  return { built, sent }
}

/** @param {string} name @param {any} command @returns {Sent[]} */
function statementsOf (name, command) {
  const statements = STATEMENTS[name]
  if (statements === undefined) return [{ collection: String(command[name]), kind: name, filter: {} }]
  return statements(command).map((each) => ({ collection: command[name], ...each }))
}

/** @param {any} value @returns {boolean} whether it names one value, or some */
function isEqual (value) {
  if (value instanceof RegExp) return false
  if (value === null || typeof value !== 'object' || value instanceof Date || value._bsontype !== undefined) return true
  const operators = Object.keys(value).filter((key) => key.startsWith('$'))
  return operators.length === 0 || operators.some((operator) => operator === '$eq' || operator === '$in')
}

/**
 * Whether a mongos sends it to the shards that have these keys alone.
 * https://www.mongodb.com/docs/manual/core/sharded-cluster-query-router/#targeted-operations-vs.-broadcast-operations
 * @param {Sent} sent @param {string[]} key  fields of the shard key
 */
export function hasShardKey ({ kind, filter }, key) {
  if (kind === 'insert') return key.every((field) => field in filter)
  // One document is changed where its whole key is known. Otherwise the first field says where to look.
  const isOne = ['updateOne', 'deleteOne', 'findAndModify'].includes(kind)
  return names(filter, isOne ? key : key.slice(0, 1))
}

/** @param {Record<string, any>} filter @param {string[]} fields @returns {boolean} */
const names = (filter, fields) =>
  fields.every((field) => field in filter && isEqual(filter[field])) ||
  (filter.$and ?? []).some((/** @type {any} */ each) => names(each, fields)) ||
  (filter.$or?.length > 0 && filter.$or.every((/** @type {any} */ each) => names(each, fields)))

/** @param {Record<string, any>} filter @returns {string[]} sorted, without doubles */
export const fieldsOf = (filter) => [...new Set(Object.entries(filter).flatMap(([key, value]) =>
  key.startsWith('$') ? value.flatMap(fieldsOf) : [key]))].sort()
