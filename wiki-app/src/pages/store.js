import createError from '@fastify/error'
import mongoose from 'mongoose'
import { hashOf } from '../hash.js'
import { inTransaction } from '../transaction.js'
import { titleKey } from './name.js'
import { createTurns } from './turns.js'

/** @typedef {import('./model.js').Page} Page */
/** @typedef {Pick<Page, '_id' | 'revision' | 'html_hash' | 'deleted_at' | 'redirect_to'>} Head  what a write is judged by */

/**
 * Who changes a page and why; both may be ''.
 * @typedef {{author?: string, summary?: string}} Attribution
 */

/**
 * Refuses a write by throwing; called with the newest state in the step that writes, so nothing can come between.
 * @typedef {(head: Head | null) => void} Precondition
 */

const NameTaken = createError('WIKI_NAME_TAKEN', 'The page cannot be called “%s”: that name has a page, or the history of a deleted one.', 409)

export const PageMissing = createError('WIKI_PAGE_MISSING', 'There is no page named “%s”.', 404)

const SEARCH_MAX_MS = 1_000

const HEAD_FIELDS = { revision: 1, html_hash: 1, deleted_at: 1, redirect_to: 1 }
const VIEW_FIELDS = { revision: 1, html: 1, html_hash: 1, content_bytes: 1, modified_at: 1, deleted_at: 1, redirect_to: 1 }
const SOURCE_FIELDS = { revision: 1, content: 1, html_hash: 1, deleted_at: 1 }
const LIST_FIELDS = { revision: 1, modified_at: 1 }

/** @typedef {Pick<Page, '_id' | keyof typeof VIEW_FIELDS>} PageView */
/** @typedef {Pick<Page, '_id' | keyof typeof SOURCE_FIELDS>} PageSource */
/** @typedef {Pick<Page, '_id' | keyof typeof LIST_FIELDS>} PageItem */

/**
 * The number that an edit is based on.
 * @param {Pick<Head, 'revision' | 'deleted_at'> | null} head
 * @returns {number} 0 where there is no page to see
 */
export const currentRevision = (head) => head === null || head.deleted_at != null ? 0 : head.revision

/**
 * All access to the newest state of pages, and every write. Names are canonical ones.
 * @param {ReturnType<typeof import('./model.js').defineModels>} models
 * @param {import('../markdown/renderer.js').Renderer} renderer
 */
export function createPageStore ({ Pages, Revisions }, renderer) {
  const inTurn = createTurns()

  /**
   * The one way in which a page changes: its newest state and the revision that keeps it, both or neither, durable when this returns.
   * Writes of one page take turns in this process; those of other processes are met by the transaction.
   * @param {string} name
   * @param {Omit<import('./model.js').Revision, '_id' | 'page' | 'revision' | 'follows' | 'created_at'>} change
   * @param {Buffer | null} html  null for a deletion
   * @param {Precondition} precondition
   * @returns {Promise<{revision: number, before: Head | null}>}
   */
  const commit = (name, change, html, precondition) => inTurn(name, () => inTransaction(Pages.db, async (session) => {
    const before = /** @type {Head | null} */ (await Pages.findOne({ _id: name }, HEAD_FIELDS, { session }).lean().exec())
    precondition(before)
    const revision = (before?.revision ?? 0) + 1
    // A page that was renamed took its revisions along.
    const follows = before === null || before.redirect_to ? null : before.revision
    const now = new Date()
    await Revisions.insertMany([{ page: name, revision, follows, ...change, created_at: now }], { session, lean: true })
    const state = html === null
      ? { deleted_at: now }
      : { title_key: titleKey(name), content: change.content, content_bytes: change.content_bytes, html, html_hash: hashOf(html, now.toISOString()), modified_at: now, deleted_at: null, redirect_to: null }
    await Pages.updateOne({ _id: name }, { $set: { ...state, revision }, $setOnInsert: { created_at: now } }, { session, upsert: true }).exec()
    return { revision, before }
  }))

  return {
    /**
     * What a reader sees, in one read. What is no page any more is still found: its `deleted_at` is not null.
     * @param {string} name
     * @returns {Promise<PageView | null>}
     */
    findView: (name) => Pages.findOne({ _id: name }, VIEW_FIELDS).lean().exec(),

    /**
     * What a text of the past looks like.
     * @param {string} content  Markdown
     */
    async render (content) {
      const { contentBytes, html } = await renderer.render(content)
      return { content_bytes: contentBytes, html: Buffer.from(html) }
    },

    /**
     * What an author edits.
     * @param {string} name
     * @returns {Promise<PageSource | null>}
     */
    findSource: (name) => Pages.findOne({ _id: name, deleted_at: null }, SOURCE_FIELDS).lean().exec(),

    /**
     * Creates or replaces a page. Everything costly in showing it is done here.
     * @param {string} name
     * @param {string} content  Markdown
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<{revision: number, contentBytes: number, created: boolean}>}
     * @throws {Error} 413 when it, or the HTML that it becomes, is too large, 422 or 429 when it cannot be rendered in time; what `precondition` throws
     */
    async save (name, content, { author = '', summary = '' } = {}, precondition = () => {}) {
      const { contentBytes, html } = await renderer.render(content)
      const { revision, before } = await commit(name, { content, content_bytes: contentBytes, author, summary, deleted: false }, Buffer.from(html), precondition)
      return { revision, contentBytes, created: currentRevision(before) === 0 }
    },

    /**
     * Its revisions stay, and any of them can be brought back.
     * @param {string} name
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<number>} the revision that is the deletion
     * @throws {Error} 404 when there is no such page; what `precondition` throws
     */
    async remove (name, { author = '', summary = '' } = {}, precondition = () => {}) {
      const { revision } = await commit(name, { content: '', content_bytes: 0, author, summary, deleted: true }, null, (head) => {
        if (currentRevision(head) === 0) throw new PageMissing(name)
        precondition(head)
      })
      return revision
    },

    /**
     * Gives a page, with its whole history, another name. The old name leads to it until someone writes a page there.
     * @param {string} name
     * @param {string} target
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<number>} the revision that is the renaming
     * @throws {Error} 404 when there is no such page, 409 when the new name is taken; what `precondition` throws
     */
    rename (name, target, { author = '', summary = '' } = {}, precondition = () => {}) {
      return inTurn(name, () => inTransaction(Pages.db, async (session) => {
        const page = await Pages.findOne({ _id: name }, null, { session }).lean().exec()
        if (page === null || currentRevision(page) === 0) throw new PageMissing(name)
        precondition(page)
        const there = await Pages.findOne({ _id: target }, HEAD_FIELDS, { session }).lean().exec()
        const history = await Revisions.findOne({ page: target }, { _id: 1 }, { session }).lean().exec()
        if (name === target || currentRevision(there) !== 0 || history !== null) throw new NameTaken(target)

        // Revisions only ever grow, for either name.
        const revision = Math.max(page.revision, there?.revision ?? 0) + 1
        const now = new Date()
        const state = { ...page, _id: target, title_key: titleKey(target), revision, html_hash: hashOf(page.html, now.toISOString()), modified_at: now }
        await Pages.replaceOne({ _id: target }, state, { session, upsert: true }).exec()
        await Pages.updateOne({ _id: name }, { $set: { revision, deleted_at: now, redirect_to: target } }, { session }).exec()
        await Revisions.updateMany({ page: name }, { $set: { page: target } }, { session }).exec()
        const { content, content_bytes: contentBytes } = page
        await Revisions.insertMany([{
          page: target, revision, follows: page.revision, content, content_bytes: contentBytes, author, summary: summary || `Renamed from “${name}”`, deleted: false, created_at: now
        }], { session, lean: true })
        return revision
      }))
    },

    /**
     * @param {string} name
     * @returns {Promise<string | null>} the name that a page which was here has now
     */
    async findRedirect (name) {
      const page = await Pages.findOne({ _id: name }, { redirect_to: 1 }).lean().exec()
      return page?.redirect_to ?? null
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
