import { driverOf } from '../database/driver.js'
import { escapePattern } from '../pages/letters.js'
import { titleQuery } from '../pages/search-key.js'
import { rangeBelow } from '../pages/subpage-names.js'
import { isWithin } from './find-space.js'
import { createSpaceSearch } from './search.js'

/** @import {mongo} from 'mongoose' */
/** @import {History, RevisionItem} from '../history/history.js' */
/** @import {Page} from '../pages/model.js' */
/** @import {SpaceModels} from './model.js' */

const PAGES_PER_PART = 50
const CHANGES_PER_PART = 50
/** Changes of other spaces are skipped: of so many the list looks for those of one. */
const CHANGES_SEEN_MAX = 1_000
const CHANGES_AT_ONCE = 100
const LIST_MAX_MS = 1_000

/**
 * `before`: id of a change of the space; `skip`: of other spaces' changes that follow it, so many were looked through.
 * @typedef {Pick<Page, '_id' | 'modified_at' | 'revision'>} Listed
 * @typedef {{before?: string, skip?: number}} Place
 */

/**
 * Lists of one space.
 * @param {{models: SpaceModels['inside'], history: Pick<History, 'changes'>}} parts
 */
export function createSpaceLists ({ models, history }) {
  const pages = driverOf(models.Pages)

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
     * The newest first. Ids of other spaces' changes stay here: they say when something was changed there.
     * @param {{root: string, limit?: number} & Place} options
     * @returns {Promise<{items: RevisionItem[], next: Place | null}>} `next`: where the list goes on
     */
    async changes ({ root, limit = CHANGES_PER_PART, ...place }) {
      /** @type {RevisionItem[]} */
      const items = []
      let from = place
      let next = { skip: 0, ...place }
      for (let seen = 0; seen < CHANGES_SEEN_MAX; seen += CHANGES_AT_ONCE) {
        const found = await history.changes({ ...from, limit: CHANGES_AT_ONCE })
        for (const item of found.items) {
          from = { before: String(item._id) }
          next = isWithin(root, item.page) ? { ...from, skip: 0 } : { ...next, skip: next.skip + 1 }
          if (next.skip === 0) items.push(item)
          if (items.length === limit) return { items, next }
        }
        if (!found.more) return { items, next: null }
      }
      return { items, next }
    }
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
