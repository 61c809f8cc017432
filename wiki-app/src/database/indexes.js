import { driverOf } from './driver.js'

/**
 * In one command for each collection: mongoose sends one for each index, and each of them waits for a majority.
 * https://www.mongodb.com/docs/manual/reference/command/createIndexes/
 * @param {Iterable<import('mongoose').Model<any>>} models
 */
export async function createIndexes (models) {
  // One by one: all at once would open a connection each.
  for (const model of models) {
    const indexes = model.schema.indexes().map(([key, options]) => Object.assign({}, options, { key }))
    if (indexes.length > 0) await driverOf(model).createIndexes(/** @type {any[]} */ (indexes))
  }
}
