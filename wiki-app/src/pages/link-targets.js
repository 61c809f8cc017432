import { randomUUID } from 'node:crypto'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { NAME_ORDER } from './model.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Models, Target} from './model.js' */

/** With more linking pages, everything is purged. */
export const LINKING_MAX = 1_000

/** Within the transaction that changes a page. @param {Models} models */
export function createLinkTargets ({ Pages, Targets, Tags }) {
  return {
    /**
     * @param {ClientSession} session @param {Change[]} changes  of the names that each page links to
     */
    async relink (session, changes) {
      const gone = await recount({ Model: Targets, field: 'sources', onInsert: { is: null } }, session, changes)
      if (gone.length === 0) return
      const unused = { _id: mongoose.trusted({ $in: gone }), is: null, sources: mongoose.trusted({ $lte: 0 }) }
      await Targets.deleteMany(unused, { session }).exec()
    },

    /** @param {ClientSession} session @param {Change[]} changes  of the tags of each page */
    async retag (session, changes) {
      const gone = await recount({ Model: Tags, field: 'pages' }, session, changes)
      if (gone.length === 0) return
      const unused = { _id: mongoose.trusted({ $in: gone }), pages: mongoose.trusted({ $lte: 0 }) }
      await Tags.deleteMany(unused, { session }).exec()
    },

    /**
     * Pages whose link becomes missing, or stops being so, are marked: their HTML shows it as before.
     * @param {ClientSession} session @param {string} name @param {Target['is']} is @param {Target['is']} was
     * @returns {Promise<string[]>} names of those pages, at most LINKING_MAX + 1, without the page itself
     */
    async setKind (session, name, is, was) {
      if (is === was) return []
      await Targets
        .updateOne({ _id: name }, { $set: { is }, $setOnInsert: { sources: 0 } }, { session, upsert: true })
        .exec()
      if (is === null) await Targets.deleteOne({ _id: name, is: null, sources: 0 }, { session }).exec()
      if ((is === null) === (was === null)) return []
      const linking = { links: name, deleted_at: null, _id: mongoose.trusted({ $ne: name }) }
      // The index of links has this collation.
      const inOrder = { session, collation: NAME_ORDER }
      await Pages.updateMany(linking, { $set: { links_outdated: outdatedMark() } }, inOrder).exec()
      /** @type {{_id: string}[]} */
      const pages = await Pages
        .find(linking, { _id: 1 }, inOrder)
        .sort({ _id: 1 })
        .limit(LINKING_MAX + 1)
        .lean()
        .exec()
      return pages.map(({ _id }) => _id)
    },

    /** @param {string[]} names @param {ClientSession} [session] @returns {Promise<Set<string>>} */
    async missing (names, session) {
      if (names.length === 0) return new Set()
      /** @type {{_id: string}[]} */
      const there = await Targets
        .find({ _id: mongoose.trusted({ $in: names }), is: mongoose.trusted({ $ne: null }) }, { _id: 1 }, { session })
        .lean()
        .exec()
      return new Set(minus(names, there.map(({ _id }) => _id)))
    }
  }
}

/** Of one page. @typedef {{before: string[], after: string[]}} Change */

/**
 * @param {{Model: import('mongoose').Model<any>, field: string, onInsert?: object}} counts  of documents
 * @param {ClientSession} session @param {Change[]} changes
 * @returns {Promise<string[]>} ids of the documents whose count decreased
 */
async function recount ({ Model, field, onInsert }, session, changes) {
  const gone = changes.flatMap(({ before, after }) => minus(before, after))
  const added = changes.flatMap(({ before, after }) => minus(after, before))
  // A fixed order, so that two writers do not wait for each other.
  const steps = [
    ...gone.map((name) => ({ name, by: -1 })),
    ...added.map((name) => ({ name, by: 1 }))
  ].sort((a, b) => a.name < b.name ? -1 : 1)
  if (steps.length === 0) return gone
  await driverOf(Model).bulkWrite(steps.map(({ name, by }) => ({
    updateOne: {
      filter: { _id: name },
      update: { $inc: { [field]: by }, ...(onInsert && { $setOnInsert: onInsert }) },
      upsert: true
    }
  })), { session })
  return gone
}

/** @typedef {ReturnType<typeof createLinkTargets>} LinkTargets */

/** Differs each time: a correction notices that links changed again. */
export const outdatedMark = () => randomUUID()

/** @param {string[]} names @param {string[]} others */
function minus (names, others) {
  const set = new Set(others)
  return names.filter((name) => !set.has(name))
}
