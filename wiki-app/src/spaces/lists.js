import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { createNewestChanges, inGroups } from '../history/newest-changes.js'
import { createHistories } from '../pages/histories.js'
import { escapePattern } from '../pages/letters.js'
import { titleQuery } from '../pages/search-key.js'
import { rangeBelow } from '../pages/subpage-names.js'
import { isWithin, rangesOf } from './find-space.js'
import { createSpaceSearch } from './search.js'

/** @import {mongo} from 'mongoose' */
/** @import {RevisionItem} from '../history/history.js' */
/** @import {Page} from '../pages/model.js' */
/** @import {SpaceModels} from './model.js' */

const PAGES_PER_PART = 50
const CHANGES_PER_PART = 50
const LIST_MAX_MS = 1_000
/** The index of revisions by their pages; that of all by time has those of other spaces. */
const BY_PAGE = { page: 1, _id: -1 }

/** @typedef {Pick<Page, '_id' | 'modified_at' | 'revision'>} Listed */

/**
 * Lists of one space.
 * @param {SpaceModels['inside']} models
 */
export function createSpaceLists (models) {
  const pages = driverOf(models.Pages)
  const newestChanges = createNewestChanges(models, createHistories(models))

  /**
   * @param {string} root @param {mongo.Filter<any>} filter @param {string} after @param {number} [limit]
   * @returns {Promise<{items: Listed[], more: boolean}>} in order of bytes
   */
  async function listOf (root, filter, after, limit = PAGES_PER_PART) {
    const inside = { $or: [{ _id: root }, { _id: rangeBelow(root) }] }
    const found = /** @type {Listed[]} */ (await pages
      .find({ $and: [{ deleted_at: null, _id: { $gt: after } }, inside, filter] }, {
        projection: { modified_at: 1, revision: 1 }, sort: { _id: 1 }, limit: limit + 1, maxTimeMS: LIST_MAX_MS
      })
      .toArray())
    return { items: found.slice(0, limit), more: found.length > limit }
  }

  /**
   * Filters of all revisions in a space. Their keys are names in it, but for pages that were renamed
   * (pages/histories.js), also in an earlier space with some of its names.
   * @param {string} root @returns {Promise<object[]>}
   */
  async function revisionsOf (root) {
    const ranges = rangesOf(root)
    const renamed = await pages
      .find({ history: { $gt: '' }, $or: ranges.flatMap((range) => [{ _id: range }, { history: range }]) }, {
        projection: { history: 1 }, maxTimeMS: LIST_MAX_MS
      })
      .toArray()
    const [inside, elsewhere] = [true, false].map((isInside) =>
      renamed.filter(({ _id: name }) => isWithin(root, name) === isInside).map(({ history }) => String(history)))
    return [
      ...ranges.map((range) => ({ page: mongoose.trusted({ ...range, $nin: elsewhere }) })),
      ...inGroups('page', inside)
    ]
  }

  return {
    /**
     * @param {{root: string, q: string, after?: string, limit?: number}} options  `q`: beginnings of words of a title;
     *   '' for all
     */
    pages: ({ root, q, after = '', limit }) => listOf(root, q === '' ? {} : titleFilter(q), after, limit),

    texts: createSpaceSearch(models),

    /** @param {{root: string, name: string, after?: string}} options */
    linkingTo: ({ root, name, after = '' }) => listOf(root, { links: name }, after),

    /**
     * No other space's changes are read: where a list goes on would say how many there are.
     * @param {{root: string, before?: string, limit?: number}} options  `before`: id of the last change seen
     * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first
     */
    changes: async ({ root, before, limit = CHANGES_PER_PART }) =>
      newestChanges(await revisionsOf(root), { before, limit, query: { hint: BY_PAGE, maxTimeMS: LIST_MAX_MS } })
  }
}

/** @param {string} q */
function titleFilter (q) {
  const query = titleQuery(q)
  if (query === null) return { search_key: '' }
  const first = query.beginnings.map((beginning) => new RegExp(`^${escapePattern(beginning)}`))
  return { $or: [{ search_key: { $in: first } }, { search_key: { $regex: query.elsewhere } }] }
}

/** @typedef {ReturnType<typeof createSpaceLists>} SpaceLists */
