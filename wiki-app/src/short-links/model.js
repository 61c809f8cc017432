import mongoose from 'mongoose'

/** @import {Db, ObjectId} from 'mongodb' */

/**
 * @typedef {object} ShortLink
 * @property {string | ObjectId} _id
 * @property {string} [id]  in the forms that read by this field
 * @property {string} page  the page's name now: a renaming changes it
 * @property {number | null} revision  null: the page as it is at any time
 * @property {string | null} chosen  the id again, if it is a chosen one; null: random, one for each target
 * @property {Date} created_at
 */

/**
 * How the database finds an id. A hashed index cannot be unique, so there `_id` keeps ids unique, and reads use the
 * other field (https://www.mongodb.com/docs/manual/core/indexes/index-types/index-hashed/).
 * @typedef {{collection: string, key: '_id' | 'id', keysOf: (id: string) => Pick<ShortLink, '_id' | 'id'>,
 *   fields: object, index: Record<string, 1 | 'hashed'> | null, options?: object}} Form
 */
/** @satisfies {Record<string, Form>} */
const FORMS = {
  id: {
    collection: 'short_links', key: '_id', keysOf: (id) => ({ _id: id }), fields: { _id: String }, index: null
  },
  btree: {
    collection: 'short_links_btree',
    key: 'id',
    keysOf: (id) => ({ _id: new mongoose.mongo.ObjectId(), id }),
    fields: { _id: mongoose.Schema.Types.ObjectId, id: String },
    index: { id: 1 },
    options: { unique: true }
  },
  hashed: {
    collection: 'short_links_hashed',
    key: 'id',
    keysOf: (id) => ({ _id: id, id }),
    fields: { _id: String, id: String },
    index: { id: 'hashed' }
  }
}
export const SHORT_LINK_INDEXES = /** @type {(keyof typeof FORMS)[]} */ (Object.keys(FORMS))
export const SHORT_LINK_COLLECTIONS = Object.values(FORMS).map(({ collection }) => collection)

/** @typedef {keyof typeof FORMS} ShortLinkIndex */

/** @param {import('mongoose').Connection} connection @param {ShortLinkIndex} index */
export function defineShortLinks (connection, index) {
  const { collection, key, keysOf, fields, index: indexed, options } = /** @type {Form} */ (FORMS[index])
  const schema = new mongoose.Schema(
    { ...fields, page: String, revision: Number, chosen: String, created_at: Date },
    { collection, id: false, versionKey: false, strict: 'throw', strictQuery: 'throw' }
  )
  if (indexed !== null) schema.index(indexed, options)
  // Keeps one random link for each target, also between processes, and finds the links that a renaming changes.
  schema.index({ page: 1, revision: 1, chosen: 1 }, { unique: true })
  const Links = /** @type {import('mongoose').Model<ShortLink>} */ (
    /** @type {unknown} */ (connection.model('ShortLink', schema)))

  /**
   * A wiki that reads another collection would answer each stored link with 404, so it does not start to serve.
   * @param {Db} db @throws {Error}
   */
  async function refuseOtherForms (db) {
    for (const other of SHORT_LINK_INDEXES.filter((each) => each !== index)) {
      const found = await db.collection(FORMS[other].collection).findOne({}, { projection: { _id: 1 } })
      if (found === null) continue
      throw new Error(`its short addresses are stored for SHORT_LINK_INDEX=${other}, and this wiki was started with ` +
        `SHORT_LINK_INDEX=${index}; start it with ${other}, or with another database`)
    }
  }

  return { Links, key, keysOf, refuseOtherForms }
}

/** @typedef {ReturnType<typeof defineShortLinks>} ShortLinkModel */
