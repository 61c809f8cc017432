import createError from '@fastify/error'
import mongoose from 'mongoose'
import { titleKey } from './name.js'
import { hashOf, renderPage } from './render.js'

/** @typedef {import('./model.js').Page} Page */

export const PageMissing = createError('WIKI_PAGE_MISSING', 'There is no page named “%s”.', 404)

const SEARCH_MAX_MS = 1_000

const VIEW_FIELDS = { revision: 1, html: 1, html_hash: 1, content_bytes: 1, modified_at: 1 }
const SOURCE_FIELDS = { revision: 1, content: 1 }
const LIST_FIELDS = { revision: 1, modified_at: 1 }

/** @typedef {Pick<Page, '_id' | keyof typeof VIEW_FIELDS>} PageView */
/** @typedef {Pick<Page, '_id' | keyof typeof SOURCE_FIELDS>} PageSource */
/** @typedef {Pick<Page, '_id' | keyof typeof LIST_FIELDS>} PageItem */

/**
 * All access to stored pages. Names are canonical ones.
 * @param {import('mongoose').Model<Page>} Pages
 * @param {number} maxBytes  of a page's Markdown
 */
export function createPageStore (Pages, maxBytes) {
  return {
    /**
     * What a reader sees, in one read.
     * @param {string} name
     * @returns {Promise<PageView | null>}
     */
    findView: (name) => Pages.findOne({ _id: name, deleted_at: null }, VIEW_FIELDS).lean().exec(),

    /**
     * What an author edits.
     * @param {string} name
     * @returns {Promise<PageSource | null>}
     */
    findSource: (name) => Pages.findOne({ _id: name, deleted_at: null }, SOURCE_FIELDS).lean().exec(),

    /**
     * Creates or replaces a page; it is durable when this returns. Everything costly in showing it is done here.
     * @param {string} name
     * @param {string} content  Markdown
     * @returns {Promise<{revision: number, contentBytes: number, created: boolean}>}
     * @throws {Error} 413 when it, or the HTML that it becomes, is too large
     */
    async save (name, content) {
      const { contentBytes, html } = renderPage(content, maxBytes)
      const modifiedAt = new Date()
      // The document before the change tells whether there was a page, in the same step that counts the revision.
      const before = await Pages.findOneAndUpdate({ _id: name }, {
        $set: {
          title_key: titleKey(name),
          content,
          content_bytes: contentBytes,
          html,
          html_hash: hashOf(html, modifiedAt.toISOString()),
          modified_at: modifiedAt,
          deleted_at: null
        },
        $setOnInsert: { created_at: modifiedAt },
        $inc: { revision: 1 }
      }, { upsert: true, returnDocument: 'before', projection: { revision: 1, deleted_at: 1 } }).lean().exec()
      return { revision: (before?.revision ?? 0) + 1, contentBytes, created: before === null || before.deleted_at !== null }
    },

    /**
     * @param {string} name
     * @returns {Promise<number>} the revision that is the deletion
     * @throws {Error} 404 when there is no such page
     */
    async remove (name) {
      const after = await Pages.findOneAndUpdate({ _id: name, deleted_at: null }, {
        $set: { deleted_at: new Date() },
        $inc: { revision: 1 }
      }, { returnDocument: 'after', projection: { revision: 1 } }).lean().exec()
      if (after === null) throw new PageMissing(name)
      return after.revision
    },

    /**
     * Pages in the order of their titles. With `q` those that have it in their title, first those that begin with it.
     * @param {object} options
     * @param {string} options.q  '' for all
     * @param {string} [options.after]  name of the last page seen, which need not exist any more
     * @param {number} options.limit
     * @returns {Promise<{pages: PageItem[], more: boolean}>}
     */
    async list ({ q, after, limit }) {
      const groups = searchGroups(titleKey(q))
      const start = after === undefined ? 0 : Math.max(0, groups.findIndex(({ test }) => test(titleKey(after))))
      /** @type {PageItem[]} */
      const found = []
      for (const [index, { filter }] of groups.entries()) {
        if (index < start || found.length > limit) continue
        const conditions = index === start && after !== undefined ? [filter, behind(after)] : [filter]
        const pages = await Pages.find({ deleted_at: null, $and: conditions }, LIST_FIELDS)
          .sort({ title_key: 1, _id: 1 }).limit(limit + 1 - found.length).maxTimeMS(SEARCH_MAX_MS).lean().exec()
        found.push(...pages)
      }
      return { pages: found.slice(0, limit), more: found.length > limit }
    }
  }
}

/** @typedef {ReturnType<typeof createPageStore>} PageStore */

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
  return { $or: [{ title_key: mongoose.trusted({ $gt: key }) }, { title_key: key, _id: mongoose.trusted({ $gt: name }) }] }
}
