import { randomUUID } from 'node:crypto'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { NAME_ORDER } from './model.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Models, Target} from './model.js' */

/** With more linking pages, everything is purged. */
export const LINKING_MAX = 1_000

const MARKED_AT_ONCE = 1_000
/** The kind of work that `markPart` does. */
export const OUTDATED_LINKS = 'outdated-links'

/** As a page shows it. @typedef {{page: string, link: string, isMissing: boolean}} ShownLink */

/**
 * Within the transaction that changes a page.
 * @typedef {(page: string, session?: ClientSession) => Promise<(name: string) => boolean>} MayTell
 * @param {Models} models
 * @param {{later: Later, mayTell?: MayTell}} options  `later`: writes down what is to be done after it; `mayTell`: of
 *   which names a page may show that they are missing
 */
export function createLinkTargets ({ Pages, Targets }, { later, mayTell = async () => () => true }) {
  /**
   * @param {string} name @param {{after?: string, limit: number, session?: ClientSession}} options
   * @returns {Promise<string[]>} names of pages, without the page itself, in NAME_ORDER
   */
  async function linkingTo (name, { after = '', limit, session }) {
    const found = await driverOf(Pages)
      .find({ links: name, deleted_at: null, _id: { $gt: after, $ne: name } }, {
        projection: { _id: 1 },
        sort: { _id: 1 },
        limit,
        batchSize: limit,
        // The index of links has it.
        collation: NAME_ORDER,
        session
      })
      .toArray()
    return found.map(({ _id }) => _id)
  }

  /** @param {string[]} names @param {ClientSession} [session] */
  async function markOutdated (names, session) {
    if (names.length === 0) return
    await driverOf(Pages).updateMany(
      { _id: { $in: names } }, { $set: { links_outdated: outdatedMark() } }, { session }
    )
  }

  return {
    markOutdated,

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
      const linking = await linkingTo(name, { session, limit: LINKING_MAX + 1 })
      if (linking.length > LINKING_MAX) await later([{ kind: OUTDATED_LINKS, name }], session)
      else await markOutdated(linking, session)
      return linking
    },

    /**
     * The same outside the transaction, for a page with more links to it than an edit can wait for. A page that is
     * marked in vain shows the same HTML again.
     * @param {string} name @param {string} after  the name that the previous part ended with; '' at first
     * @returns {Promise<string | null>} the name that this part ends with; null: it was the last one
     */
    async markPart (name, after) {
      const linking = await linkingTo(name, { after, limit: MARKED_AT_ONCE })
      await markOutdated(linking)
      return linking.length < MARKED_AT_ONCE ? null : linking[linking.length - 1]
    },

    /**
     * @param {string[]} links @param {ClientSession} [session] @param {string} [page]  that has the links
     * @returns {Promise<Set<string>>}
     */
    async missing (links, session, page = '') {
      const names = links.length === 0 ? [] : links.filter(await mayTell(page, session))
      const there = await thereOf(Targets, names, session)
      return new Set(names.filter((each) => !there.has(each)))
    },

    /**
     * @param {ShownLink[]} shown @param {ClientSession} session
     * @returns {Promise<ShownLink[]>} those that are otherwise now
     */
    async wrong (shown, session) {
      /** @type {Map<string, (name: string) => boolean>} */
      const tells = new Map()
      for (const page of new Set(shown.map((each) => each.page))) tells.set(page, await mayTell(page, session))
      const known = shown.filter(({ page, link }) => tells.get(page)?.(link))
      const there = await thereOf(Targets, [...new Set(known.map(({ link }) => link))], session)
      return known.filter(({ link, isMissing }) => isMissing === there.has(link))
    }
  }
}

/** @typedef {ReturnType<typeof createLinkTargets>} LinkTargets */

/**
 * @param {Models['Targets']} Targets @param {string[]} names @param {ClientSession} [session]
 * @returns {Promise<Set<string>>} those that exist
 */
async function thereOf (Targets, names, session) {
  if (names.length === 0) return new Set()
  /** @type {{_id: string}[]} */
  const there = await Targets
    .find({ _id: mongoose.trusted({ $in: names }), is: mongoose.trusted({ $ne: null }) }, { _id: 1 }, { session })
    .lean()
    .exec()
  return new Set(there.map(({ _id }) => _id))
}

/** Differs each time: a correction notices that links changed again. */
export const outdatedMark = () => randomUUID()
