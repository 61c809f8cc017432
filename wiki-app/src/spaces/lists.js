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

/** @typedef {Pick<Page, '_id' | 'modified_at'>} Listed */

/**
 * Lists of one space.
 * @param {{models: SpaceModels['inside'], history: Pick<History, 'changes'>}} parts
 */
export function createSpaceLists ({ models, history }) {
  const pages = driverOf(models.Pages)

  /**
   * @param {string} root @param {mongo.Filter<any>} filter @param {string} after
   * @returns {Promise<{items: Listed[], more: boolean}>} in order of bytes
   */
  async function listOf (root, filter, after) {
    const inside = { $or: [{ _id: root }, { _id: rangeBelow(root) }] }
    const found = /** @type {Listed[]} */ (await pages
      .find({ $and: [{ deleted_at: null, _id: { $gt: after } }, inside, filter] }, {
        projection: { modified_at: 1 }, sort: { _id: 1 }, limit: PAGES_PER_PART + 1, maxTimeMS: LIST_MAX_MS
      })
      .toArray())
    return { items: found.slice(0, PAGES_PER_PART), more: found.length > PAGES_PER_PART }
  }

  return {
    /** @param {{root: string, q: string, after?: string}} options  `q`: beginnings of words of a title; '' for all */
    pages: ({ root, q, after = '' }) => listOf(root, q === '' ? {} : titleFilter(q), after),

    texts: createSpaceSearch(models),

    /** @param {{root: string, name: string, after?: string}} options */
    linkingTo: ({ root, name, after = '' }) => listOf(root, { links: name }, after),

    /**
     * The newest first.
     * @param {{root: string, before?: string}} options  `before`: id of a change
     * @returns {Promise<{items: RevisionItem[], next: string | null}>} `next`: where the list goes on
     */
    async changes ({ root, before }) {
      /** @type {RevisionItem[]} */
      const items = []
      let from = before
      for (let seen = 0; seen < CHANGES_SEEN_MAX; seen += CHANGES_AT_ONCE) {
        const found = await history.changes({ before: from, limit: CHANGES_AT_ONCE })
        for (const item of found.items) {
          from = String(item._id)
          if (isWithin(root, item.page)) items.push(item)
          if (items.length === CHANGES_PER_PART) return { items, next: from }
        }
        if (!found.more) return { items, next: null }
      }
      return { items, next: from ?? null }
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
