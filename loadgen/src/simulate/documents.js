/**
 * The documents of one collection, in the order of their insertion, and what the wiki's queue uses of MongoDB's queries
 * and updates. A change makes new documents, so a copy of the list is what there was at a moment.
 * @typedef {Record<string, any> & {_id: any}} Document
 * @typedef {Record<string, any>} Filter
 * @typedef {{sort?: Record<string, 1 | -1>, limit?: number}} Order
 */

/** @type {Record<string, (value: any, operand: any) => boolean>} */
const OPERATORS = {
  $eq: (value, operand) => isEqual(value, operand),
  $ne: (value, operand) => !isEqual(value, operand),
  $in: (value, operand) => operand.some((/** @type {any} */ one) => isEqual(value, one)),
  $nin: (value, operand) => !operand.some((/** @type {any} */ one) => isEqual(value, one)),
  $exists: (value, operand) => (value !== undefined) === operand,
  // As in MongoDB, only values of one type are compared.
  $lte: (value, operand) => isSameType(value, operand) && value <= operand,
  $gt: (value, operand) => isSameType(value, operand) && value > operand
}

/** @param {Document[]} documents @param {Filter} filter @param {Order} [order] @returns {Document[]} */
export function find (documents, filter, { sort = {}, limit = Infinity } = {}) {
  const found = documents.filter((document) => matches(document, filter))
  const [[path, direction] = ['', 1]] = Object.entries(sort)
  if (path !== '') found.sort((one, other) => direction * compare(valueAt(one, path), valueAt(other, path)))
  return found.slice(0, limit)
}

/**
 * @param {Document[]} documents @param {Filter} filter @param {{$set: object}} update
 * @returns {{documents: Document[], count: number}}
 */
export function update (documents, filter, { $set }) {
  let count = 0
  const changed = documents.map((document) => {
    if (!matches(document, filter)) return document
    count++
    return { ...document, ...$set }
  })
  return { documents: changed, count }
}

/** @param {Document[]} documents @param {Filter} filter @returns {{documents: Document[], count: number}} */
export function remove (documents, filter) {
  const left = documents.filter((document) => !matches(document, filter))
  return { documents: left, count: documents.length - left.length }
}

/**
 * What an upsert inserts where nothing matches.
 * @param {any} _id @param {Filter} filter @param {{$setOnInsert: object}} update  @returns {Document}
 */
export function upserted (_id, filter, { $setOnInsert }) {
  /** @type {Document} */
  const document = { _id }
  for (const [path, condition] of Object.entries(filter)) {
    if (!path.startsWith('$') && !path.includes('.') && !isCondition(condition)) document[path] = condition
  }
  return { ...document, ...$setOnInsert }
}

/** @param {Document} document @param {Filter} filter @returns {boolean} */
export const matches = (document, filter) => Object.entries(filter).every(([path, condition]) => {
  if (path === '$or') return condition.some((/** @type {Filter} */ one) => matches(document, one))
  if (path.startsWith('$')) throw new Error(`the simulated database does not know ${path}`)
  const value = valueAt(document, path)
  if (!isCondition(condition)) return OPERATORS.$eq(value, condition)
  return Object.entries(condition).every(([name, operand]) => {
    if (!(name in OPERATORS)) throw new Error(`the simulated database does not know ${name}`)
    return OPERATORS[name](value, operand)
  })
})

/** @param {any} document @param {string} path */
const valueAt = (document, path) => path.split('.').reduce((value, name) => value?.[name], document)

/** @param {any} condition */
const isCondition = (condition) => condition !== null && typeof condition === 'object' &&
  Object.keys(condition).some((name) => name.startsWith('$'))

/** A field that is not there equals null; a list equals each of its elements. @param {any} a @param {any} b */
function isEqual (a, b) {
  if (Array.isArray(a)) return a.some((/** @type {any} */ one) => isSame(one, b))
  return isSame(a ?? null, b ?? null)
}

/** Identifiers are equal by their text, dates by their time. @param {any} a @param {any} b */
const isSame = (a, b) => a === b || (isObject(a) && isObject(b) && compare(a, b) === 0)

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === 'object'

/** @param {any} a @param {any} b */
const isSameType = (a, b) => typeof a === typeof b && (a instanceof Date) === (b instanceof Date)

/** @param {any} a @param {any} b @returns {number} */
function compare (a, b) {
  const [one, other] = [a, b].map((value) =>
    value instanceof Date ? value.getTime() : isObject(value) ? value.toString() : value)
  return one < other ? -1 : one > other ? 1 : 0
}
