import createError from '@fastify/error'
import mongoose from 'mongoose'
import { retryAfter } from '../http/retry-after.js'
import { titleKey } from './name.js'

/** @typedef {import('./model.js').Page} Page */
/** @typedef {Pick<Page, '_id' | 'revision' | 'modified_at'>} PageItem */
/** @typedef {{name: string, revision: number, modifiedAt: Date, content: string}} TextHit */

const LIST_FIELDS = { revision: 1, modified_at: 1 }
const SearchTooLong = createError(
  'WIKI_SEARCH_TOO_LONG',
  'This takes too long just now, and was given up. Longer or rarer words are found sooner; or try again in a moment.',
  503
)

/** A search may not take the whole server's time. */
export const SEARCH_MAX_MS = 1_000
/** https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const MAX_TIME_MS_EXPIRED = 50
/** Comparing hits means reading each; the index gives them in an order that is good enough for words that so many pages have. */
const RANKED_MAX = 1_000
/** The part of a text that its excerpt comes from. Of longer texts a part of a list would read up to 100 MiB. */
const EXCERPT_FROM_CHARS = 32_768

/**
 * Finds pages; changes nothing. Every list is read from an index, in parts.
 * @param {ReturnType<typeof import('./model.js').defineModels>} models
 * @param {{searchMaxMs?: number}} [limits]
 */
export function createSearch ({ Pages, Targets, Tags }, { searchMaxMs = SEARCH_MAX_MS } = {}) {
  /**
   * @template T
   * @param {Promise<T>} search
   * @returns {Promise<T>}
   * @throws {Error} 503 when the database gave up: it measures wall time, so the words may be costly or the machine busy
   */
  const inTime = (search) => search.catch((error) => {
    throw error.code === MAX_TIME_MS_EXPIRED ? retryAfter(new SearchTooLong()) : error
  })

  /**
   * @param {object} filter
   * @param {number} limit
   */
  const inOrder = (filter, limit, maxMs = searchMaxMs) => inTime(Pages.find({ deleted_at: null, ...filter }, LIST_FIELDS)
    .sort({ title_key: 1, _id: 1 }).limit(limit).maxTimeMS(maxMs).lean().exec())

  /**
   * @param {object} filter
   * @param {Part} part
   */
  const listOf = async (filter, { after, limit }) => partOf(await inOrder(after === undefined ? filter : { $and: [filter, behind(after)] }, limit + 1), limit)

  return {
    /**
     * Pages in the order of their titles. With `q` those that have it in their title, first those that begin with it. That they begin with it an index tells; that they
     * have it further in, all titles have to be looked through for.
     * @param {Part & {q: string, patienceMs?: number}} options  `q`: '' for all; `patienceMs`: for titles that have it further in, which are left out when it is over
     * @returns {Promise<Found<PageItem> & {complete: boolean}>}  `complete`: none was left out
     * @throws {Error} 503 when it takes too long, and no patience was given
     */
    async byTitle ({ q, after, limit, patienceMs }) {
      const groups = searchGroups(titleKey(q))
      const start = after === undefined ? 0 : Math.max(0, groups.findIndex(({ test }) => test(titleKey(after))))
      /** @type {PageItem[]} */
      const found = []
      for (const [index, { filter }] of groups.entries()) {
        if (index < start || found.length > limit) continue
        const conditions = index === start && after !== undefined ? [filter, behind(after)] : [filter]
        const furtherIn = index > 0
        const items = await inOrder({ $and: conditions }, limit + 1 - found.length, furtherIn ? patienceMs : undefined).catch((error) => {
          if (furtherIn && patienceMs !== undefined && error instanceof SearchTooLong) return null
          throw error
        })
        if (items === null) return { ...partOf(found, limit), complete: false }
        found.push(...items)
      }
      return { ...partOf(found, limit), complete: true }
    },

    /**
     * Pages with words of `q` in their text or title, the best match first, unless there are too many to compare: then the best for its
     * first word. https://www.mongodb.com/docs/manual/reference/operator/query/text/
     * @param {{q: string, skip: number, limit: number}} options  `q`: words, "phrases in quotes", -words that must not be there
     * @returns {Promise<Found<TextHit> & {ranked: boolean}>}
     * @throws {Error} 503 when it takes too long
     */
    async byText ({ q, skip, limit }) {
      const filter = { deleted_at: null, $text: mongoose.trusted({ $search: q }) }
      const hits = await inTime(Pages.find(filter, { _id: 1 }).limit(RANKED_MAX + 1).maxTimeMS(searchMaxMs).lean().exec())
      const ranked = hits.length <= RANKED_MAX
      const content = { $substrCP: ['$content', 0, EXCERPT_FROM_CHARS] }
      const query = Pages.find(filter, /** @type {any} */ ({ ...LIST_FIELDS, content }))
      if (ranked) query.sort(/** @type {any} */ ({ score: { $meta: 'textScore' }, _id: 1 }))
      /** @type {Page[]} */
      const found = await inTime(query.skip(skip).limit(limit + 1).maxTimeMS(searchMaxMs).lean().exec())
      return { ...partOf(found.map(({ _id: name, revision, modified_at: modifiedAt, content }) => ({ name, revision, modifiedAt, content })), limit), ranked }
    },

    /**
     * @param {Part & {tag: string}} options
     * @returns {Promise<Found<PageItem>>}
     */
    byTag: ({ tag, ...part }) => listOf({ tags: tag }, part),

    /**
     * Pages with a link to a page, or to a name that it had.
     * @param {Part & {name: string}} options
     * @returns {Promise<Found<PageItem>>}
     */
    async linkingTo ({ name, ...part }) {
      /** @type {{_id: string}[]} */
      const former = await Pages.find({ redirect_to: name }, { _id: 1 }).limit(FORMER_NAMES_MAX).lean().exec()
      return listOf(former.length === 0 ? { links: name } : { links: mongoose.trusted({ $in: [name, ...former.map(({ _id }) => _id)] }) }, part)
    },

    /**
     * Pages that no other leads to.
     * @param {Part} part
     * @returns {Promise<Found<{name: string}>>}
     */
    async orphaned ({ after, limit }) {
      /** @type {import('./model.js').Target[]} */
      const found = await Targets.find({ is: 'page', sources: 0, ...(after !== undefined && { _id: mongoose.trusted({ $gt: after }) }) }, { _id: 1 })
        .sort({ _id: 1 }).limit(limit + 1).lean().exec()
      return partOf(found.map(({ _id: name }) => ({ name })), limit)
    },

    /**
     * Names that pages lead to and that nobody has written yet, the most wanted first.
     * @param {Part} part
     * @returns {Promise<Found<{name: string, sources: number}>>}
     */
    async wanted ({ after, limit }) {
      const last = after === undefined ? null : await Targets.findById(after, { sources: 1 }).lean().exec()
      const rest = last === null
        ? { sources: mongoose.trusted({ $gt: 0 }) }
        : { sources: mongoose.trusted({ $gt: 0, $lte: last.sources }), $or: [{ sources: mongoose.trusted({ $lt: last.sources }) }, { _id: mongoose.trusted({ $gt: last._id }) }] }
      /** @type {import('./model.js').Target[]} */
      const found = await Targets.find({ is: null, ...rest }, { sources: 1 }).sort({ sources: -1, _id: 1 }).limit(limit + 1).lean().exec()
      return partOf(found.map(({ _id: name, sources }) => ({ name, sources })), limit)
    },

    /**
     * All tags in alphabetical order.
     * @param {Part} part
     * @returns {Promise<Found<{tag: string, pages: number}>>}
     */
    async tags ({ after, limit }) {
      /** @type {import('./model.js').Tag[]} */
      const found = await Tags.find(after === undefined ? {} : { _id: mongoose.trusted({ $gt: after }) }, { pages: 1 }).sort({ _id: 1 }).limit(limit + 1).lean().exec()
      return partOf(found.map(({ _id: tag, pages }) => ({ tag, pages })), limit)
    }
  }
}

/** @typedef {ReturnType<typeof createSearch>} Search */

/**
 * @typedef {object} Part  of a list
 * @property {string} [after]  the last item seen, which need not exist any more
 * @property {number} limit
 */

/**
 * @template T
 * @typedef {{items: T[], more: boolean}} Found
 */

/** A page is seldom renamed more than a few times. */
const FORMER_NAMES_MAX = 100

/**
 * @template T
 * @param {T[]} found  one more than asked for when there is more
 * @param {number} limit
 * @returns {Found<T>}
 */
const partOf = (found, limit) => ({ items: found.slice(0, limit), more: found.length > limit })

/**
 * Where a search looks, in order.
 * @param {string} key
 * @returns {{filter: object, test: (title: string) => boolean}[]}
 */
function searchGroups (key) {
  if (key === '') return [{ filter: {}, test: () => true }]
  const literal = key.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const titleMatches = (/** @type {string} */ pattern) => ({ title_key: mongoose.trusted({ $regex: pattern }) })
  return [
    { filter: titleMatches(`^${literal}`), test: (title) => title.startsWith(key) },
    { filter: titleMatches(`^(?!${literal}).+${literal}`), test: (title) => !title.startsWith(key) }
  ]
}

/**
 * The rest of a list.
 * @param {string} name
 */
function behind (name) {
  const key = titleKey(name)
  // The first condition is implied by the second, and tells the index where to begin.
  return { title_key: mongoose.trusted({ $gte: key }), $or: [{ title_key: mongoose.trusted({ $gt: key }) }, { title_key: key, _id: mongoose.trusted({ $gt: name }) }] }
}
