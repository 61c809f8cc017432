import createError from '@fastify/error'
import mongoose from 'mongoose'

/** @import {Models, Revision} from '../pages/model.js' */

export const RevisionMissing = createError('WIKI_REVISION_MISSING', 'There is no revision %s of “%s”.', 404)

export const RevisionIsDeletion = createError(
  'WIKI_REVISION_IS_DELETION', 'Revision %s of “%s” is its deletion; it has no text.', 404
)

export const ITEM_FIELDS = {
  page: 1,
  revision: 1,
  follows: 1,
  content_bytes: 1,
  tags: 1,
  author: 1,
  summary: 1,
  deleted: 1,
  created_at: 1
}
/** @typedef {Omit<Revision, 'content'>} RevisionItem */

/** Only the page store adds revisions. @param {Models} models */
export function createHistory ({ Revisions }) {
  return {
    /** @param {string} page @param {number} revision @returns {Promise<Revision | null>} */
    find: (page, revision) => Revisions.findOne({ page, revision }).lean().exec(),

    /** @param {string} page @param {number} revision @returns {Promise<RevisionItem | null>} */
    findItem: (page, revision) => Revisions.findOne({ page, revision }, ITEM_FIELDS).lean().exec(),

    /**
     * A string of 1 MiB here would delay all other requests by milliseconds.
     * @param {import('mongoose').Types.ObjectId} id  of an existing revision
     * @returns {Promise<Uint8Array>} BSON with `content`, Markdown
     */
    async textAsBson (id) {
      const options = { projection: { _id: 0, content: 1 }, raw: true }
      const bson = /** @type {any} */ (await Revisions.collection.findOne({ _id: id }, options))
      // Otherwise the database's whole reply would be copied to the thread.
      return new Uint8Array(bson)
    },

    /**
     * @param {{page: string, before?: number, limit: number}} options  only revisions below `before`
     * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first
     */
    async ofPage ({ page, before, limit }) {
      const filter = before === undefined ? { page } : { page, revision: mongoose.trusted({ $lt: before }) }
      return part(
        await Revisions.find(filter, ITEM_FIELDS).sort({ revision: -1 }).limit(limit + 1).lean().exec(),
        limit
      )
    },

    /**
     * @param {{author?: string, before?: string, limit: number}} options  `before`: id of the last change seen
     * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first
     */
    async changes ({ author, before, limit }) {
      const filter = {
        ...(author !== undefined && { author }),
        ...(before !== undefined && { _id: mongoose.trusted({ $lt: new mongoose.Types.ObjectId(before) }) })
      }
      return part(await Revisions.find(filter, ITEM_FIELDS).sort({ _id: -1 }).limit(limit + 1).lean().exec(), limit)
    },

    /**
     * @param {RevisionItem[]} items  of a part of a list
     * @returns {Promise<(item: RevisionItem) => number | null>} length of the text before it; null: there is none
     */
    async bytesBefore (items) {
      const followed = items.flatMap(({ page, follows }) => follows === null ? [] : [{ page, revision: follows }])
      /** @type {RevisionItem[]} */
      const found = followed.length === 0
        ? []
        : await Revisions.find({ $or: followed }, { page: 1, revision: 1, content_bytes: 1 }).lean().exec()
      const bytes = new Map(found.map(({ page, revision, content_bytes: length }) => [`${revision} ${page}`, length]))
      return ({ page, follows }) => bytes.get(`${follows} ${page}`) ?? null
    }
  }
}

/** @typedef {ReturnType<typeof createHistory>} History */

/** @template T @param {T[]} found  `limit` + 1 items when there are more @param {number} limit */
const part = (found, limit) => ({ items: found.slice(0, limit), more: found.length > limit })
