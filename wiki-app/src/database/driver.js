/**
 * The driver's own collection, for views and saves: mongoose would cast and copy each document, and this code makes
 * what it reads and writes itself.
 * @template Document
 * @param {import('mongoose').Model<Document>} Model
 */
export const driverOf = ({ collection }) =>
  /** @type {import('mongoose').mongo.Collection<import('mongoose').mongo.OptionalId<Document>>} */ (
    /** @type {unknown} */ (collection))
