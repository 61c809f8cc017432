import mongoose from 'mongoose'
import { retryAfter } from '../http/retry-after.js'
import { NAME_ORDER } from '../pages/model.js'
import { escapePattern } from '../pages/letters.js'
import { searchKey, titleQuery } from '../pages/search-key.js'
import { withoutTalk } from '../pages/talk.js'
import { SearchTooLong } from '../words/errors.js'
import { createOverdue } from './overdue.js'

/** @import {Models, Page, Target} from '../pages/model.js' */
/** @import {Freshness, Words} from '../words/words.js' */

/** @typedef {Pick<Page, '_id' | 'revision' | 'modified_at'>} PageItem */
/** @typedef {{name: string, revision: number, modifiedAt: Date, content: string}} TextHit */

const LIST_FIELDS = { revision: 1, modified_at: 1 }
export const SEARCH_MAX_MS = 1_000
/** Of an item in the list of wanted names: how many pages link to it, and its name. */
export const WANTED_POSITION = '^[1-9]\\d{0,8} .'
/** https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
export const MAX_TIME_MS_EXPIRED = 50
/** With whole texts, one part of a list would read up to 100 MiB. */
export const EXCERPT_FROM_CHARS = 32_768

/**
 * Every list comes from an index.
 * @param {Models} models
 * @param {{words: Pick<Words, 'search' | 'freshness'>, home?: string, searchMaxMs?: number}} options  `home`: the page
 *   at `/`
 */
// eslint-disable-next-line max-lines-per-function -- independent queries
export function createSearch ({ Pages, Targets, Tags }, { words, home = '', searchMaxMs = SEARCH_MAX_MS }) {
  /**
   * @template T @param {Promise<T>} search
   * @throws {Error} 503 for a costly query or a busy machine: the limit is wall time
   */
  const refuseWhenTooLong = (search) => search.catch((error) => {
    throw error.code === MAX_TIME_MS_EXPIRED ? retryAfter(new SearchTooLong()) : error
  })

  /** @param {object} filter @param {number} limit @param {number} [maxMs] */
  const byKey = (filter, limit, maxMs = searchMaxMs) => refuseWhenTooLong(
    Pages
      .find({ deleted_at: null, ...filter }, LIST_FIELDS)
      .sort({ search_key: 1, _id: 1 })
      .limit(limit)
      .maxTimeMS(maxMs)
      .lean()
      .exec()
  )

  /** @param {object} filter @param {Part} part @returns {Promise<PageItem[]>} one more than `limit`, if there are */
  const readList = (filter, { after, limit }) => refuseWhenTooLong(
    Pages
      .find({ deleted_at: null, ...filter, ...namesAfter(after) }, LIST_FIELDS)
      .collation(NAME_ORDER)
      .sort({ _id: 1 })
      .limit(limit + 1)
      .maxTimeMS(searchMaxMs)
      .lean()
      .exec()
  )

  /** @param {object} filter @param {Part} part @returns {Promise<Found<PageItem>>} */
  const listOf = async (filter, part) => partOf(await readList(filter, part), part.limit)

  /** @param {Part & {tag: string}} options @returns {Promise<Found<PageItem>>} */
  const byTag = ({ tag, ...part }) => listOf({ tags: tag }, part)

  return {
    /**
     * All in the order of their names; with `q`, by their search keys: first titles that begin with it, from an index,
     * then those where each of its words begins a word, or that have it further in, from a scan.
     * @param {Part & {q: string, scanMaxMs?: number}} options  `q`: '' for all; a scan beyond `scanMaxMs` is left out
     * @returns {Promise<Found<PageItem> & {complete: boolean}>}  `complete`: nothing was left out
     * @throws {Error} 503 when it takes too long; the scan only without `scanMaxMs`
     */
    async byTitle ({ q, after, limit, scanMaxMs }) {
      if (q === '') return { ...await listOf({}, { after, limit }), complete: true }
      const groups = searchGroups(q)
      const start = after === undefined ? 0 : Math.max(0, groups.findIndex(({ test }) => test(searchKey(after))))
      /** @type {PageItem[]} */
      const found = []
      for (const [index, { filter }] of groups.entries()) {
        if (index < start || found.length > limit) continue
        const conditions = index === start && after !== undefined ? [filter, keysAfter(after)] : [filter]
        const isScan = index > 0
        const items = await byKey(
          { $and: conditions },
          limit + 1 - found.length,
          isScan ? scanMaxMs : undefined
        ).catch((error) => {
          if (isScan && scanMaxMs !== undefined && error instanceof SearchTooLong) return null
          throw error
        })
        if (items === null) return { ...partOf(found, limit), complete: false }
        found.push(...items)
      }
      return { ...partOf(found, limit), complete: true }
    },

    /**
     * The best match first; of too many hits, some. A page that was deleted a moment ago is left out.
     * @param {{q: string, skip: number, limit: number}} options  `q`: words, "phrases in quotes", -excluded words
     * @returns {Promise<Found<TextHit> & {freshness: Freshness} &
     *   Pick<import('../words/words.js').Found, 'forms' | 'suggestion' | 'ranked'>>} `forms`: words found as well
     * @throws {Error} 503 when it takes too long, and when there is no index of words
     */
    async byText ({ q, skip, limit }) {
      // Before: a change that this does not count may be found, but not the other way round.
      const freshness = await words.freshness()
      const hits = await words.search({ q, skip, limit, maxMs: searchMaxMs })
      const { names, forms, suggestion, more, ranked } = hits
      const content = { $substrCP: ['$content', 0, EXCERPT_FROM_CHARS] }
      /** @type {Page[]} */
      const found = names.length === 0
        ? []
        : await refuseWhenTooLong(
          Pages
            .find(
              { _id: mongoose.trusted({ $in: names }), deleted_at: null },
              /** @type {any} */ ({ ...LIST_FIELDS, content })
            )
            .maxTimeMS(searchMaxMs)
            .lean()
            .exec()
        )
      const pages = new Map(found.map((page) => [page._id, page]))
      const items = names.flatMap((name) => pages.get(name) ?? []).map(({ _id: name, revision, ...page }) =>
        ({ name, revision, modifiedAt: page.modified_at, content: page.content }))
      return { items, forms, suggestion, more, ranked, freshness }
    },

    byTag,

    overdue: createOverdue({ Tags }, byTag),

    /**
     * All pages whose names begin with this one and a slash.
     * @param {Part & {name: string}} options @returns {Promise<Found<PageItem>>}
     */
    below: ({ name, ...part }) => listOf(namesBelow(name), part),

    /**
     * Includes links to former names.
     * @param {Part & {name: string}} options @returns {Promise<Found<PageItem>>}
     */
    async linkingTo ({ name, ...part }) {
      /** @type {{_id: string}[]} */
      const former = await Pages.find({ redirect_to: name }, { _id: 1 }).limit(FORMER_NAMES_MAX).lean().exec()
      return listOf(
        former.length === 0
          ? { links: name }
          : { links: mongoose.trusted({ $in: [name, ...former.map(({ _id }) => _id)] }) },
        part
      )
    },

    /**
     * Without the home page, where every reader begins, and talk pages, to which their pages lead.
     * @param {Part} part
     */
    async orphaned ({ after, limit }) {
      /** @param {string} [from] @returns {Promise<Target[]>} */
      const read = (from) => Targets
        .find({ is: 'page', sources: 0, _id: mongoose.trusted({ $ne: home, ...from !== undefined && { $gt: from } }) })
        .select({ _id: 1 })
        .collation(NAME_ORDER)
        .sort({ _id: 1 })
        .limit(limit + 1)
        .lean()
        .exec()
      const found = await withoutTalk(read, after)
      return partOf(found.map(({ _id: name }) => ({ name })), limit)
    },

    /**
     * Pages whose text has no link to a page, written or not. A link of a page to itself is one, too. No talk pages.
     * @param {Part} part @returns {Promise<Found<PageItem>>}
     */
    deadEnds: async ({ after, limit }) =>
      partOf(await withoutTalk((from) => readList({ links: [] }, { after: from, limit }), after), limit),

    /**
     * Those with most links first.
     * @param {Part} part  `after`: a WANTED_POSITION. It has the number, so the list goes on there also when the name
     *   has been written or is no longer linked to.
     */
    async wanted ({ after, limit }) {
      const last = after === undefined ? null : positionIn(after)
      const rest = last === null
        ? { sources: mongoose.trusted({ $gt: 0 }) }
        : {
            sources: mongoose.trusted({ $gt: 0, $lte: last.sources }),
            // With `sources` in the second branch, too, the database would read all before the position.
            $or: [
              { sources: mongoose.trusted({ $lt: last.sources }) },
              { _id: mongoose.trusted({ $gt: last.name }) }
            ]
          }
      /** @type {Target[]} */
      const found = await Targets
        .find({ is: null, ...rest }, { sources: 1 })
        .collation(NAME_ORDER)
        .sort({ sources: -1, _id: 1 })
        .limit(limit + 1)
        .lean()
        .exec()
      return partOf(found.map(({ _id: name, sources }) => ({ name, sources })), limit)
    },

    /** @param {Part} part */
    async tags ({ after, limit }) {
      /** @type {import('../pages/model.js').Tag[]} */
      const found = await Tags
        .find(namesAfter(after), { pages: 1 })
        .collation(NAME_ORDER)
        .sort({ _id: 1 })
        .limit(limit + 1)
        .lean()
        .exec()
      return partOf(found.map(({ _id: tag, pages }) => ({ tag, pages })), limit)
    }
  }
}

/** @typedef {ReturnType<typeof createSearch>} Search */

/** `after` need not exist any more. @typedef {{after?: string, limit: number}} Part */

/** @template T @typedef {{items: T[], more: boolean}} Found */

const FORMER_NAMES_MAX = 100

/** @template T @param {T[]} found  `limit` + 1 items when there are more @param {number} limit @returns {Found<T>} */
const partOf = (found, limit) => ({ items: found.slice(0, limit), more: found.length > limit })

/** @param {string} q @returns {{filter: object, test: (key: string) => boolean}[]} */
function searchGroups (q) {
  const query = titleQuery(q)
  // Of underscores alone; so are the titles that it finds.
  if (query === null) return [{ filter: { search_key: '' }, test: () => true }]
  const { beginnings, elsewhere } = query
  const begins = (/** @type {string} */ key) => beginnings.some((beginning) => key.startsWith(beginning))
  const patterns = beginnings.map((beginning) => new RegExp(`^${escapePattern(beginning)}`))
  return [
    { filter: { search_key: mongoose.trusted({ $in: patterns }) }, test: begins },
    { filter: { search_key: mongoose.trusted({ $regex: elsewhere }) }, test: (key) => !begins(key) }
  ]
}

/** @param {{name: string, sources: number}} wanted @returns {string} its WANTED_POSITION */
export const positionOf = ({ name, sources }) => `${sources} ${name}`

/** @param {string} position  WANTED_POSITION */
function positionIn (position) {
  const space = position.indexOf(' ')
  return { sources: Number(position.slice(0, space)), name: position.slice(space + 1) }
}

/** For the collation NAME_ORDER. @param {string} [name] */
const namesAfter = (name) => name === undefined ? {} : { _id: mongoose.trusted({ $gt: name }) }

/** NAME_ORDER puts U+FFFF last; between are also names in another letter case. @param {string} name */
const namesBelow = (name) => ({
  $and: [
    { _id: mongoose.trusted({ $gte: `${name}/`, $lt: `${name}/\uFFFF` }) },
    { _id: mongoose.trusted({ $regex: `^${escapePattern(name)}/` }) }
  ]
})

/** @param {string} name */
function keysAfter (name) {
  const key = searchKey(name)
  // Implied by the second condition; gives the index its start.
  return {
    search_key: mongoose.trusted({ $gte: key }),
    $or: [
      { search_key: mongoose.trusted({ $gt: key }) },
      { search_key: key, _id: mongoose.trusted({ $gt: name }) }
    ]
  }
}
