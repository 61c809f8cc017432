/** @import {mongo} from 'mongoose' */

/** mongoose would cast and copy each document. @template Document @param {import('mongoose').Model<Document>} Model */
export const driverOf = ({ collection }) =>
  /** @type {mongo.Collection<mongo.OptionalId<Document>>} */ (
    /** @type {unknown} */ (collection))
