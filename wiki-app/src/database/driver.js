/**
 * Returns the driver's own collection, for views and saves: mongoose would cast and copy each document, and this code
 * produces all that it reads and writes.
 * @template Document
 * @param {import('mongoose').Model<Document>} Model
 */
export const driverOf = ({ collection }) =>
  /** @type {import('mongoose').mongo.Collection<import('mongoose').mongo.OptionalId<Document>>} */ (
    /** @type {unknown} */ (collection))
