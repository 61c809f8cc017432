import createError from '@fastify/error'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { historyUrl } from '../pages/name.js'
import { authorNames } from './authors.js'

/** @import {Histories} from '../pages/histories.js' */
/** @import {Models, Revision} from '../pages/model.js' */

export const RevisionMissing = createError('WIKI_REVISION_MISSING', 'There is no revision %s of “%s”.', 404)

export const RevisionIsDeletion = createError(
  'WIKI_REVISION_IS_DELETION', 'Revision %s of “%s” is its deletion; it has no text.', 404
)

export const RevisionErased = createError(
  'WIKI_REVISION_ERASED',
  'An administrator has erased the text of revision %s of “%s”. It cannot be shown, compared or brought back.',
  410
)

/**
 * Not for ever: an erased one has to leave also those caches that nobody purges (docs/decisions/0089). Until then it
 * does not change (RFC 8246).
 */
export const PAST_CONTROL = 'public, max-age=86400, immutable'

export const ITEM_FIELDS = {
  page: 1,
  revision: 1,
  follows: 1,
  content_bytes: 1,
  tags: 1,
  author: 1,
  summary: 1,
  deleted: 1,
  created_at: 1,
  erased_at: 1
}
/**
 * `page`: the name of the page now; `history`: what is stored instead, see histories.js
 * @typedef {Revision & {history: string}} FoundRevision
 * @typedef {Omit<FoundRevision, 'content'>} RevisionItem
 */

/**
 * Only the page store adds revisions.
 * @param {Models} models @param {Histories} histories
 */
export function createHistory ({ Revisions }, histories) {
  /** @param {string} page @param {number} revision @param {object} [fields] @returns {Promise<any>} */
  async function findOne (page, revision, fields = {}) {
    const history = await histories.keyOf(page)
    if (history === null) return null
    const found = await Revisions.findOne({ page: history, revision }, fields).lean().exec()
    return found && { ...found, page, history }
  }

  return {
    /**
     * @param {string} page @param {number} revision @returns {Promise<FoundRevision | null>}
     * @throws {Error} 410 when it is erased
     */
    async find (page, revision) {
      const found = await findOne(page, revision)
      if (found !== null) refuseErased(found)
      return found
    },

    /**
     * What somebody began with.
     * @param {string} page @param {number} revision
     * @returns {Promise<FoundRevision | null>} null: there is none, or it is erased
     */
    async findBase (page, revision) {
      const found = await findOne(page, revision)
      return found?.erased_at ? null : found
    },

    /** @param {string} page @param {number} revision @returns {Promise<RevisionItem | null>} */
    findItem: (page, revision) => findOne(page, revision, ITEM_FIELDS),

    /** All of them, each once. */
    authorNames: () => authorNames(driverOf(Revisions)),

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
      const history = await histories.keyOf(page)
      if (history === null) return { items: [], more: false }
      const filter = { page: history, ...before !== undefined && { revision: mongoose.trusted({ $lt: before }) } }
      /** @type {Omit<Revision, 'content'>[]} */
      const found = await Revisions.find(filter, ITEM_FIELDS).sort({ revision: -1 }).limit(limit + 1).lean().exec()
      return part(found.map((item) => ({ ...item, page, history })), limit)
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
      const found = await Revisions.find(filter, ITEM_FIELDS).sort({ _id: -1 }).limit(limit + 1).lean().exec()
      return part(await named(found, histories), limit)
    },

    /**
     * @param {RevisionItem[]} items  of a part of a list
     * @returns {Promise<(item: RevisionItem) => BytesBefore>} length of the text before it
     */
    async bytesBefore (items) {
      const followed = items.flatMap(({ history: page, follows }) =>
        follows === null ? [] : [{ page, revision: follows }])
      /** @type {Revision[]} */
      const found = followed.length === 0
        ? []
        : await Revisions.find({ $or: followed }, LENGTH_FIELDS).lean().exec()
      const bytes = new Map(found.map(({ page, revision, content_bytes: length, erased_at: erasedAt }) =>
        [`${revision} ${page}`, erasedAt ? undefined : length]))
      return ({ history, follows }) => {
        const key = `${follows} ${history}`
        return bytes.has(key) ? bytes.get(key) : null
      }
    }
  }
}

/** @typedef {ReturnType<typeof createHistory>} History */
/** null: there is no text before; undefined: it is erased. @typedef {number | null | undefined} BytesBefore */

const LENGTH_FIELDS = { page: 1, revision: 1, content_bytes: 1, erased_at: 1 }

/** @param {RevisionItem} item @throws {Error} 410, with the way to the history */
export function refuseErased ({ page, revision, erased_at: erasedAt }) {
  if (!erasedAt) return
  throw Object.assign(new RevisionErased(revision, page), { historyUrl: historyUrl(page) })
}

/** @param {Omit<Revision, 'content'>[]} found @param {Histories} histories @returns {Promise<RevisionItem[]>} */
export async function named (found, histories) {
  const nameOf = await histories.namesOf(found.map(({ page }) => page))
  return found.map((item) => ({ ...item, page: nameOf(item.page), history: item.page }))
}

/** @template T @param {T[]} found  `limit` + 1 items when there are more @param {number} limit */
const part = (found, limit) => ({ items: found.slice(0, limit), more: found.length > limit })
